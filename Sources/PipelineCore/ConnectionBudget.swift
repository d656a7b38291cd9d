/// A limit on new connections per minute, so that no mass of errors, and no restart, becomes a reconnect storm.
///
/// The service treats rapid connecting as denial of service ([10]). The budget applies to every new connection, also to
/// those that follow an answered error, which need no back-off. In no minute, wherever it begins, are more granted than the
/// limit; half of them may come at once, the others come evenly, so that a busy minute does not end in standing still.
public struct ConnectionBudget: Sendable {
    private static let minute = Duration.seconds(60)

    private let perMinute: Int
    private let spacing: Duration
    /// The latest grants, at most `perMinute`: a ring whose oldest is at `oldest`.
    private var grants: [MonotonicTime] = []
    private var oldest = 0

    /// - Parameter perMinute: connections in any minute; 1 or more.
    public init(perMinute: Int) {
        precondition(perMinute >= 1)
        self.perMinute = perMinute
        spacing = Self.minute / perMinute
    }

    /// Takes one connection out of the budget.
    ///
    /// - Parameter sparing: for a connection that could wait, as one that replaces an old one can: it is granted out of the
    ///   first half of a minute's budget only, so that those never keep a lane without a connection waiting.
    /// - Returns: nil if it was granted, else the time from which to ask again.
    public mutating func take(now: MonotonicTime, sparing: Bool = false) -> MonotonicTime? {
        if let next = nextGrant, now < next { return next }
        if sparing, let half = grant(ago: max(1, perMinute / 2)), now < half + Self.minute { return half + Self.minute }
        if grants.count < perMinute {
            grants.append(now)
        } else {
            grants[oldest] = now
            oldest = (oldest + 1) % perMinute
        }
        return nil
    }

    /// Before that time none is granted; nil: at any.
    private var nextGrant: MonotonicTime? {
        guard let last = grant(ago: 1) else { return nil }
        // The clock does not have to be right: a grant of the future counts as much as one of now.
        let full = grant(ago: perMinute).map { $0 + Self.minute }
        // Half of the budget was taken within the minute before the next evenly spaced time.
        let even = grant(ago: max(1, perMinute / 2)).flatMap { half in
            last + spacing < half + Self.minute ? last + spacing : nil
        }
        guard let full else { return even }
        return even.map { max($0, full) } ?? full
    }

    /// The grant that many grants ago; 1: the last.
    private func grant(ago count: Int) -> MonotonicTime? {
        guard count <= grants.count else { return nil }
        return grants[(oldest + grants.count - count) % grants.count]
    }
}
