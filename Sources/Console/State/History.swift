import PipelineCore

/// The last hour of the fleet, in slots of equal length: counts that grew in each, and gauges at its end.
///
/// Bounded: the oldest slot goes when a new one comes. Pure.
struct History: Sendable {
    /// The state of the fleet at the end of a slot; nil: no process answered.
    struct Gauges: Equatable, Sendable {
        var waitingRecords = 0
        var lagRecords = 0
        var oldestSeconds: Double?
        var workers = 0
        var cores = 0.0
    }

    struct Slot: Equatable, Sendable {
        var counts: [String: Int] = [:]
        var delivery: [DeliveryCounts.Way: DeliveryCounts] = [:]
        var gauges: Gauges?

        fileprivate mutating func add(_ growth: RateWindow.Growth) {
            for (name, count) in growth.counts { counts[name] = min((counts[name] ?? 0) + count, ConsoleLimits.count) }
            for (way, times) in growth.delivery { delivery[way, default: DeliveryCounts()].add(times) }
        }
    }

    static let slotSeconds = 5
    static let slots = 3600 / slotSeconds

    private var ring: [Slot] = []
    private var current = Slot()
    private var endsAt: MonotonicTime?
    /// The number of slots that were closed since the start.
    private(set) var closed = 0

    /// The closed slots, the oldest first.
    var all: ArraySlice<Slot> { ring[...] }

    /// Adds growth to the slot that is open.
    mutating func add(_ growth: RateWindow.Growth) { current.add(growth) }

    /// Closes the slots whose time is over: the last one with the gauges, those that were not looked at empty.
    mutating func tick(_ gauges: Gauges?, now: MonotonicTime) {
        let length = Duration.seconds(Self.slotSeconds)
        guard let end = endsAt else {
            endsAt = now + length
            return
        }
        guard now >= end else { return }
        let late = Int(end.elapsed(until: now) / length)
        for _ in 0..<min(late, Self.slots) { append(Slot()) }
        closed += max(0, late - Self.slots)
        current.gauges = gauges
        append(current)
        current = Slot()
        endsAt = end + length * (late + 1)
    }

    private mutating func append(_ slot: Slot) {
        closed += 1
        if ring.count == Self.slots { ring.removeFirst() }
        ring.append(slot)
    }

    /// The count of the slots that are there.
    func sum(_ name: String) -> Int {
        ring.reduce(current.counts[name] ?? 0) { $0 + ($1.counts[name] ?? 0) }
    }

    /// The times of the notifications in the last slots and in the one that is open.
    func delivery(overSlots count: Int) -> [DeliveryCounts.Way: DeliveryCounts] {
        ring.suffix(count).reduce(into: current.delivery) { sum, slot in
            for (way, times) in slot.delivery { sum[way, default: DeliveryCounts()].add(times) }
        }
    }

    /// A gauge's change per second over the last slots; nil: it is not known for a minute of them.
    func growth(of gauge: (Gauges) -> Double, overSlots count: Int) -> Double? {
        let recent = ring.suffix(count)
        guard let first = recent.firstIndex(where: { $0.gauges != nil }),
            let last = recent.lastIndex(where: { $0.gauges != nil }), (last - first) * Self.slotSeconds >= 60,
            let from = recent[first].gauges, let to = recent[last].gauges
        else { return nil }
        return (gauge(to) - gauge(from)) / Double((last - first) * Self.slotSeconds)
    }

    /// The mean of a gauge over the last slots; nil: fewer than half of them are known.
    func mean(of gauge: (Gauges) -> Double, overSlots count: Int) -> Double? {
        let known = ring.suffix(count).compactMap(\.gauges)
        guard known.count * 2 >= count else { return nil }
        return known.reduce(0) { $0 + gauge($1) } / Double(known.count)
    }
}
