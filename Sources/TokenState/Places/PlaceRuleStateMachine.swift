/// Finds the rule by which an installation's tokens lie, makes it where there is none, and sees that it stays. Pure.
///
///     unknown ──read: a rule──▶ known ──read: another──▶ over
///      │  ▲                      │  ▲
///      │  └──wrote               │  └──wrote: read again
///      └──read: none─▶ found ────┘ read: none: the same is written again
///
/// Redis decides between several who begin at once: a rule is written only where there is none, and then read. An
/// installation that has tokens and no rule is older than rules: its tokens stay where they are, in layout 2.
///
/// Redis can lose the rule while roles run, with everything else (FLUSHALL) or with its last writes (a fail-over). All
/// who run have the same one and write it again. If another role that knew none was faster there is another one now,
/// and who has the former cannot go on: the tokens that it writes would not be found.
struct PlaceRuleStateMachine {
    enum Action: Equatable {
        /// To read the value; then ``read(_:)``.
        case read
        /// To look for tokens of any layout on all servers; then ``found(isUnkeyedThere:isOtherThere:)``.
        case search
        /// To write the rule if there is none; then ``wrote()``.
        case write(PlaceRule)
        /// To work by the rule.
        case use(PlaceRule)
        /// Nothing to do until the next look.
        case rest
        /// The role cannot begin, or go on.
        case end(PlaceRuleFault)
    }

    private enum State {
        /// Becomes known or over.
        case unknown
        /// Becomes over.
        case known(PlaceRule)
        case over
    }

    private var state = State.unknown
    /// The rule of an installation that begins with this role.
    private let new: PlaceRule

    init(new: PlaceRule) {
        self.new = new
    }

    /// The rule was used; what is wrong from now on ends a role that runs.
    var isKnown: Bool {
        if case .known = state { true } else { false }
    }

    /// Takes the value in Redis; nil: there is none.
    mutating func read(_ text: String?) -> Action {
        switch (state, text) {
        case (.unknown, nil):
            return .search
        case (.unknown, let text?):
            guard let rule = PlaceRule(text: text) else { return end(.unknownForm) }
            state = .known(rule)
            return .use(rule)
        case (.known(let rule), nil):
            return .write(rule)
        case (.known(let rule), let text?):
            return PlaceRule(text: text) == rule ? .rest : end(.changed)
        case (.over, _):
            return .rest
        }
    }

    /// Takes the result of a search on all servers.
    mutating func found(isUnkeyedThere: Bool, isOtherThere: Bool) -> Action {
        if isOtherThere { return end(.ruleIsGone) }
        return .write(isUnkeyedThere ? .unkeyed : new)
    }

    func wrote() -> Action { .read }

    private mutating func end(_ fault: PlaceRuleFault) -> Action {
        state = .over
        return .end(fault)
    }
}

/// The reason why a role cannot work by the rule in Redis.
enum PlaceRuleFault: Error, Equatable, CustomStringConvertible {
    case unknownForm
    /// There are tokens that only a key finds, and no key.
    case ruleIsGone
    case changed

    var description: String {
        switch self {
        case .unknownForm:
            "k:tokens in Redis says where tokens lie, in a form that this version does not know"
        case .ruleIsGone:
            "Redis has tokens and no k:tokens, without which nobody finds them: write it again, from a backup"
        case .changed:
            "k:tokens in Redis says that tokens lie elsewhere than at the start of the role"
        }
    }
}
