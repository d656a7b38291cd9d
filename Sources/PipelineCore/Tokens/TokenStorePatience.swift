/// The longest wait of sending for the token store, for configurations that may do without it.
///
/// A look-up without an answer for `limit` means that the store is away. From then on nothing waits for it: look-ups
/// are left out, except for one probe at a time for which nothing waits. An answer to the probe shows that the store is
/// back.
public struct TokenStorePatience: Sendable {
    /// The treatment of a look-up that is due.
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

    /// The time of the next probe; nil while one is under way.
    private var nextProbe: MonotonicTime?

    public init(limit: Duration?) {
        self.limit = limit
    }

    /// Decides about a look-up that is due. The caller reports the result of a probe to ``answered()`` or
    /// ``failed(now:)``.
    public mutating func decide(now: MonotonicTime) -> Decision {
        guard isAway else { return .ask }
        guard let nextProbe, nextProbe <= now else { return .goOn }
        self.nextProbe = nil
        return .probe
    }

    /// A look-up due at `since` has waited for long enough: the store is away.
    ///
    /// - Returns: true: go on without the answer.
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
    /// - Returns: true if the store was away: it is back.
    public mutating func answered() -> Bool {
        guard isAway else { return false }
        isAway = false
        nextProbe = nil
        return true
    }

    /// A look-up failed or had no answer. Look-ups from before the store was away count, too: the next probe is put off
    /// a little.
    public mutating func failed(now: MonotonicTime) {
        guard isAway, let limit else { return }
        nextProbe = now + limit
    }
}
