/// The rate of a counter over the last minute or two, from what was noted of it now and then.
public struct RateMeter: Sendable, Equatable {
    public struct Rate: Sendable, Equatable {
        public var perSecond: Double
        /// The stretch that it was measured over.
        public var period: Duration

        public init(perSecond: Double, period: Duration) {
            self.perSecond = perSecond
            self.period = period
        }
    }

    private struct Sample: Equatable {
        var time: MonotonicTime
        var count: Int
    }

    /// The least time between two samples that are kept: any number of readers may ask, as often as they like.
    private static let spacing = Duration.seconds(20)
    private static let mostSamples = 4

    /// The oldest first; never empty.
    private var samples: [Sample]

    /// The counter is 0 now.
    public init(now: MonotonicTime) {
        samples = [Sample(time: now, count: 0)]
    }

    /// Notes the counter, and tells its rate since the oldest sample.
    public mutating func rate(count: Int, now: MonotonicTime) -> Rate {
        let oldest = samples[0]
        let period = oldest.time.elapsed(until: now)
        if samples[samples.count - 1].time + Self.spacing <= now {
            samples.append(Sample(time: now, count: count))
            if samples.count > Self.mostSamples { samples.removeFirst() }
        }
        guard period > .zero else { return Rate(perSecond: 0, period: .zero) }
        return Rate(perSecond: Double(max(0, count - oldest.count)) / (period / .seconds(1)), period: period)
    }
}
