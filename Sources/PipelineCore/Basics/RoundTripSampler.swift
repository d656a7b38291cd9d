/// Measures the round trips of some of many requests: one at a time.
///
/// The next request after the end of a sample is the next sample. So a busy client pays for as many clock readings as
/// there are round trips in a row, and one that asks now and then has each of its requests measured.
public struct RoundTripSampler: Sendable, Equatable {
    public private(set) var roundTrips = Histogram.roundTrip
    private var sample: Sample?

    private struct Sample: Equatable {
        var mark: UInt64
        var since: MonotonicTime
    }

    public init() {}

    /// A request leaves.
    ///
    /// - Parameters:
    ///   - mark: names the request in its end.
    ///   - now: read only if the request becomes the sample.
    /// - Returns: it is the sample.
    @discardableResult
    public mutating func begin(_ mark: UInt64, now: @autoclosure () -> MonotonicTime) -> Bool {
        guard sample == nil else { return false }
        sample = Sample(mark: mark, since: now())
        return true
    }

    /// A request has ended. Ignored for one that is not the sample.
    ///
    /// - Parameter isAnswered: false: it failed on the way, and tells nothing about the server.
    public mutating func end(_ mark: UInt64, isAnswered: Bool, now: @autoclosure () -> MonotonicTime) {
        guard let ended = sample, ended.mark == mark else { return }
        sample = nil
        if isAnswered { roundTrips.observe(ended.since.elapsed(until: now())) }
    }
}
