/// Slots of the history as columns: what charts draw.
struct HistoryDocument: Encodable, Equatable, Sendable {
    /// A page that missed a few events misses no slot.
    static let recentSlots = 6

    let slotSeconds: Int
    let slots: Int
    /// The number of the last slot, counted since the console's start.
    let last: Int
    /// By name, the oldest first; null: not known. Counts are per second.
    let series: [String: [Double?]]

    /// - Parameter slots: the latest so many.
    init(_ history: History, slots count: Int) {
        slotSeconds = History.slotSeconds
        slots = History.slots
        last = history.closed
        let slots = history.all.suffix(count)
        func column(_ value: (History.Slot, History.Gauges) -> Double?) -> [Double?] {
            slots.map { slot in slot.gauges.flatMap { value(slot, $0) }.map(Self.rounded) }
        }
        func perSecond(_ slot: History.Slot, _ names: [String]) -> Double {
            Double(names.reduce(0) { $0 + (slot.counts[$1] ?? 0) }) / Double(History.slotSeconds)
        }
        var series = [
            "sent": column { slot, _ in perSecond(slot, ["sent"]) },
            "waiting": column { Double($1.waitingRecords) },
            "lag": column { Double($1.lagRecords) },
            "oldest": column { $1.oldestSeconds ?? 0 },
            "workers": column { Double($1.workers) },
            "cores": column { $1.cores },
        ]
        // Of topics that keep up, over all transports; in milliseconds.
        for (name, stage) in [("handedOver", \DeliveryCounts.handedOver), ("settled", \.settled)] {
            func milliseconds(_ slot: History.Slot, _ share: Double) -> Double? {
                var times = TimeCounts()
                for (way, counts) in slot.delivery where way.topicClass == .live { times.add(counts[keyPath: stage]) }
                return times.quantile(share).map { $0 * 1000 }
            }
            series[name + "Median"] = column { slot, _ in milliseconds(slot, 0.5) }
            series[name + "99"] = column { slot, _ in milliseconds(slot, 0.99) }
        }
        for meaning in [FleetDocument.Outcome.Meaning.accepted, .spared, .failed] {
            let names = FleetView.outcomeNames(meaning).map(RateWindow.Counters.outcome)
            series[meaning.rawValue] = column { slot, _ in perSecond(slot, names) }
        }
        self.series = series
    }

    /// Three digits behind the point suffice.
    private static func rounded(_ value: Double) -> Double { (value * 1000).rounded() / 1000 }
}
