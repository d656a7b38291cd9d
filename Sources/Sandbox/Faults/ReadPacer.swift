/// Pace of a slow reader: a token bucket that holds one read. What was taken has to be worked off before the next is
/// taken, so that over any stretch that begins with a pause no more than the rate is read.
///
/// Pure: the time is an argument, in nanoseconds of a clock that never goes back.
struct ReadPacer: Sendable {
    /// The earliest time of the next read. In the past: now.
    private(set) var nextReadAt: Int64 = .min

    /// Notes that so many bytes were read.
    ///
    /// - Parameter bytesPerSecond: within ``FaultLimits/bytesPerSecond``.
    mutating func took(_ bytes: Int, bytesPerSecond: Int, now: Int64) {
        precondition(FaultLimits.bytesPerSecond.contains(bytesPerSecond), "\(bytesPerSecond) bytes per second")
        // A read is far below 2^33 bytes, so this does not overflow.
        let (seconds, rest) = bytes.quotientAndRemainder(dividingBy: bytesPerSecond)
        let nanoseconds = Int64(seconds) * 1_000_000_000 + Int64(rest) * 1_000_000_000 / Int64(bytesPerSecond)
        nextReadAt = max(nextReadAt, now) + nanoseconds
    }

    /// The rate does not count any more: what was taken is forgotten.
    mutating func reset() {
        nextReadAt = .min
    }

    /// Bytes that are best taken at a time. An eighth of a second's, so that reading looks steady to the peer.
    static func readBytes(bytesPerSecond: Int) -> Int {
        let range = FaultLimits.slowReadBytes
        return min(max(bytesPerSecond / 8, range.lowerBound), range.upperBound)
    }
}
