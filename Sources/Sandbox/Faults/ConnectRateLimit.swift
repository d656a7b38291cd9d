/// Lets no more than so many connections in within any minute. What is turned away does not count [ours]: a client
/// that comes too often is served at the limit.
///
/// Pure: the time is an argument, in nanoseconds of a clock that never goes back.
struct ConnectRateLimit: Sendable {
    static let minuteNanoseconds: Int64 = 60_000_000_000

    let perMinute: Int
    /// The times of the last `perMinute` connections: a ring, the oldest at ``oldest`` once it is full.
    private var admitted: [Int64] = []
    private var oldest = 0

    /// - Parameter perMinute: at least 1.
    init(perMinute: Int) {
        precondition(FaultLimits.perMinute.contains(perMinute), "a limit of \(perMinute)")
        self.perMinute = perMinute
    }

    /// A connection that comes now is let in.
    mutating func admits(now: Int64) -> Bool {
        guard admitted.count == perMinute else {
            admitted.append(now)
            return true
        }
        guard now - admitted[oldest] >= Self.minuteNanoseconds else { return false }
        admitted[oldest] = now
        oldest = oldest + 1 == perMinute ? 0 : oldest + 1
        return true
    }
}
