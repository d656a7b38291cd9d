/// Urgent notifications that are told apart by partition: when each was published, and when the gateway accepted it.
///
/// A place is a key, and so a partition. Its probes go to one device, in order; the gateway counts them by title, and
/// the n-th that it counts is the n-th that was published. A worker that takes over may repeat what a killed one sent,
/// so those that are published after a kill have titles of their own. Times are nanoseconds of one clock. Pure.
struct ProbeLedger: Sendable {
    enum Series: String, CaseIterable, Sendable {
        case beforeKill = "before"
        case afterKill = "after"
    }

    private struct Probe {
        var published: Int64
        var isMeasured: Bool
    }

    private(set) var series = Series.beforeKill
    /// Probes that are published from now on are measured.
    var isMeasuring = false
    /// From the publishing of each measured probe to its acceptance, in no order.
    private(set) var nanoseconds: [Int64] = []
    /// By place, of the first series.
    private var probes: [[Probe]]
    private var accepted: [Int]
    private var killedAt: Int64?
    /// By place: the first acceptance of the second series.
    private var resumptions: [Int64?]
    private let titles: [Series: [String]]

    init(places: Int) {
        probes = Array(repeating: [], count: places)
        accepted = Array(repeating: 0, count: places)
        resumptions = Array(repeating: nil, count: places)
        titles = Dictionary(
            uniqueKeysWithValues: Series.allCases.map { series in
                (series, (0..<places).map { Self.title(series, place: $0) })
            }
        )
    }

    /// The title of a place's probes.
    static func title(_ series: Series, place: Int) -> String { "\(series.rawValue) \(place)" }

    /// Probes of the first series that were not accepted.
    var outstanding: Int { zip(probes, accepted).reduce(0) { $0 + $1.0.count - $1.1 } }

    /// A probe is about to be published.
    ///
    /// - Returns: the series of its title.
    mutating func publish(_ place: Int, now: Int64) -> Series {
        if series == .beforeKill { probes[place].append(Probe(published: now, isMeasured: isMeasuring)) }
        return series
    }

    /// Notes how often the gateway has accepted each title.
    ///
    /// - Parameter now: after it has said so.
    mutating func note(_ counts: [String: Int], now: Int64) {
        guard let before = titles[.beforeKill], let after = titles[.afterKill] else { return }
        for place in probes.indices {
            // After a kill there may be more than were published.
            let count = min(counts[before[place]] ?? 0, probes[place].count)
            while accepted[place] < count {
                let probe = probes[place][accepted[place]]
                if probe.isMeasured { nanoseconds.append(now - probe.published) }
                accepted[place] += 1
            }
            if resumptions[place] == nil, counts[after[place]] ?? 0 > 0 { resumptions[place] = now }
        }
    }

    /// A worker is about to be killed.
    mutating func interrupt(now: Int64) {
        series = .afterKill
        killedAt = now
    }

    /// Seconds from the kill until each of these places had something accepted that was published after it; nil: one
    /// of them has not.
    func takeoverSeconds(of places: [Int]) -> Double? {
        guard let killedAt else { return nil }
        var last = killedAt
        for place in places {
            guard let resumption = resumptions[place] else { return nil }
            last = max(last, resumption)
        }
        return Double(last - killedAt) / 1e9
    }
}
