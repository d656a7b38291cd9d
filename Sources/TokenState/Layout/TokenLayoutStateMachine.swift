/// Finds the layout by which an installation's tokens lie, makes it where there is none, and sees that it stays. Pure.
///
///     unknown ──read: one────▶ known ──read: another──▶ over
///      │  ▲                      │  ▲
///      │  └──wrote               │  └──wrote: read again
///      └──read: none─▶ found ────┘ read: none: the same is written again
///
/// Redis decides between several roles that begin at once: a layout is written only where there is none, and then read.
/// Where there are tokens and no layout it was lost, and no role can find them.
///
/// Redis can lose the layout while roles run, with everything else (FLUSHALL) or with its last writes (a fail-over).
/// All running roles have the same one and write it again. If another role that knew none was faster there is another
/// one now, and a role with the former one cannot go on: the tokens that it writes would not be found.
struct TokenLayoutStateMachine {
    enum Action: Equatable {
        /// To read the value; then ``read(_:)``.
        case read
        /// To look for tokens of any layout on all servers; then ``found(areTokensThere:)``.
        case search
        /// To write the layout if there is none; then ``wrote()``.
        case write(TokenLayout)
        /// To work by the layout.
        case use(TokenLayout)
        /// Nothing to do until the next look.
        case rest
        /// The role cannot begin, or go on.
        case end(TokenLayoutFault)
    }

    private enum State {
        /// Becomes known or over.
        case unknown
        /// Becomes over.
        case known(TokenLayout)
        case over
    }

    private var state = State.unknown
    /// The layout of an installation that begins with this role.
    private let new: TokenLayout

    init(new: TokenLayout) {
        self.new = new
    }

    /// The layout was used; what is wrong from now on ends a role that runs.
    var isKnown: Bool {
        if case .known = state { true } else { false }
    }

    /// Takes the value in Redis; nil: there is none.
    mutating func read(_ text: String?) -> Action {
        switch (state, text) {
        case (.unknown, nil):
            return .search
        case (.unknown, let text?):
            guard let layout = TokenLayout(text: text) else { return end(.unknownForm) }
            state = .known(layout)
            return .use(layout)
        case (.known(let layout), nil):
            return .write(layout)
        case (.known(let layout), let text?):
            return TokenLayout(text: text) == layout ? .rest : end(.changed)
        case (.over, _):
            return .rest
        }
    }

    /// Takes the result of a search on all servers.
    mutating func found(areTokensThere: Bool) -> Action { areTokensThere ? end(.layoutIsGone) : .write(new) }

    func wrote() -> Action { .read }

    private mutating func end(_ fault: TokenLayoutFault) -> Action {
        state = .over
        return .end(fault)
    }
}

/// The reason why a role cannot work by the layout in Redis.
enum TokenLayoutFault: Error, Equatable, CustomStringConvertible {
    case unknownForm
    /// There are tokens, and no key by which they lie.
    case layoutIsGone
    case changed

    var description: String {
        switch self {
        case .unknownForm:
            "k:tokens in Redis says where tokens lie, in a form that this version does not know"
        case .layoutIsGone:
            "Redis has tokens and no k:tokens, without which no role finds them: write it again, from a backup"
        case .changed:
            "k:tokens in Redis says that tokens lie elsewhere than at the start of the role"
        }
    }
}
