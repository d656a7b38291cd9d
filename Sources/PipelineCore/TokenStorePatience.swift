/// For how long sending waits for the token store, where it may go on without it.
///
/// A look-up that has had no answer for `limit` means that the store is away. From then on nothing waits for it: look-ups are
/// left out, but for one at a time that nobody waits for. Its answer says that the store is back.
public struct TokenStorePatience: Sendable {
    /// What becomes of a look-up that is due.
    public enum Decision: Equatable, Sendable {
        /// Ask, and wait for the answer.
        case ask
        /// Ask, but go on at once.
        case probe
        /// Go on without asking.
        case goOn
    }

    /// Nil: sending waits for as long as it takes.
    public let limit: Duration?
    /// Nothing waits for the store.
    public private(set) var isAway = false

    /// When the next probe is due; nil while one is under way.
    private var nextProbe: MonotonicTime?

    public init(limit: Duration?) {
        self.limit = limit
    }

    /// A look-up is due. A probe must be told of by ``answered()`` or ``failed(now:)``.
    public mutating func decide(now: MonotonicTime) -> Decision {
        guard isAway else { return .ask }
        guard let nextProbe, nextProbe <= now else { return .goOn }
        self.nextProbe = nil
        return .probe
    }

    /// Whether a look-up that was due at `since` has been waited for long enough; if so, the store is away.
    ///
    /// - Returns: true: go on without its answer.
    public mutating func isOver(since: MonotonicTime, now: MonotonicTime) -> Bool {
        guard let limit, isAway || since + limit <= now else { return false }
        if !isAway {
            isAway = true
            nextProbe = now + limit
        }
        return true
    }

    /// A look-up was answered.
    ///
    /// - Returns: whether that is news: the store is back.
    public mutating func answered() -> Bool {
        guard isAway else { return false }
        isAway = false
        nextProbe = nil
        return true
    }

    /// A look-up had an error for an answer, or none at all. Those that were asked before the store was found to be away
    /// count too: the next probe is put off a little.
    public mutating func failed(now: MonotonicTime) {
        guard isAway, let limit else { return }
        nextProbe = now + limit
    }
}
