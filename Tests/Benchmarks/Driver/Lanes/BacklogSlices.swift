/// Cuts the way through a backlog into slices of as many notifications each, some without and some with urgent ones
/// beside them, and tells the rate in each. Times are nanoseconds of one clock. Pure.
struct BacklogSlices: Sendable {
    enum Kind: Equatable, Sendable {
        /// Connections and batches find their size.
        case warmUp
        case alone
        /// Urgent notifications are published.
        case beside
        /// The first partitions run dry.
        case rest
    }

    /// Each slice with urgent notifications has one without as a neighbour, now before and now behind it: a machine
    /// that gets faster or slower meanwhile changes nothing.
    static let kinds: [Kind] = [
        .warmUp, .alone, .beside, .beside, .alone, .alone, .beside, .beside, .alone, .rest, .rest, .rest,
    ]

    private let start: Int
    private let size: Double
    /// The times at which slices began, as far as they have.
    private var beginnings: [Double]
    private var last: (accepted: Int, now: Int64)

    /// - Parameters:
    ///   - start: notifications of the backlog that were accepted already.
    ///   - end: all of them; more than `start`.
    init(from start: Int, to end: Int, now: Int64) {
        self.start = start
        size = Double(end - start) / Double(Self.kinds.count)
        beginnings = [Double(now)]
        last = (start, now)
    }

    /// The slice that is under way.
    var current: Kind { Self.kinds[min(beginnings.count, Self.kinds.count) - 1] }

    /// - Parameter accepted: notifications of the backlog so far; does not fall.
    mutating func note(accepted: Int, now: Int64) {
        while beginnings.count <= Self.kinds.count, Double(accepted) >= bound(beginnings.count) {
            // Between two looks the rate is taken for even.
            let new = Double(accepted - last.accepted)
            let share = new > 0 ? (bound(beginnings.count) - Double(last.accepted)) / new : 1
            beginnings.append(Double(last.now) + share * Double(now - last.now))
        }
        last = (accepted, now)
    }

    /// Notifications a second in the slices of a kind that are over.
    func rates(_ kind: Kind) -> Samples {
        var rates = Samples()
        for (index, other) in Self.kinds.enumerated() where other == kind {
            if let rate = rate(index) { rates.add(rate) }
        }
        return rates
    }

    /// The rates beside urgent notifications as shares of the rates alone, of the neighbours that are over.
    var ratios: Samples {
        var ratios = Samples()
        for index in stride(from: 1, to: Self.kinds.count - 1, by: 2) {
            let pair = [index, index + 1]
            guard let alone = pair.first(where: { Self.kinds[$0] == .alone }).flatMap(rate),
                let beside = pair.first(where: { Self.kinds[$0] == .beside }).flatMap(rate)
            else { continue }
            ratios.add(beside / alone)
        }
        return ratios
    }

    private func bound(_ index: Int) -> Double { Double(start) + size * Double(index) }

    /// Nil: the slice is not over, or took no time.
    private func rate(_ index: Int) -> Double? {
        guard beginnings.count > index + 1, beginnings[index + 1] > beginnings[index] else { return nil }
        return size / (beginnings[index + 1] - beginnings[index]) * 1e9
    }
}
