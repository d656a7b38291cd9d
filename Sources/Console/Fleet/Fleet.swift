import BelfrySupport
import PipelineCore

/// The fleet: what its processes answered, put together. Looks at processes go in, with their times; the page's
/// document comes out.
///
/// Pure: the time is an argument. Memory is bounded by ``ConsoleLimits`` and ``History``.
struct Fleet: Sendable {
    private var records: [HostPort: ProcessRecord] = [:]
    private var order: [HostPort] = []
    private var partitions = PartitionMemory()
    private(set) var history = History()
    /// Of names that cannot be resolved.
    private var nameTroubles: [String] = []

    // MARK: Inputs

    /// The processes that there are now, and the troubles of names.
    mutating func setTargets(_ processes: [HostPort], troubles: [String], now: MonotonicTime) {
        nameTroubles = troubles
        let listed = Set(processes)
        for address in processes where records[address] == nil {
            records[address] = ProcessRecord(address: address)
            order.append(address)
        }
        for address in order {
            records[address]?.setListed(listed.contains(address), now: now)
            if records[address]?.isForgotten(now: now) == true { records[address] = nil }
        }
        order.removeAll { records[$0] == nil }
        // Processes that have gone must not keep memory from those that come.
        let surplus = order.count - 2 * ConsoleLimits.processes
        if surplus > 0 {
            for address in order.filter({ !listed.contains($0) }).prefix(surplus) { records[address] = nil }
            order.removeAll { records[$0] == nil }
        }
    }

    /// A process was looked at. Ignored for one that is not in the list any more.
    mutating func took(_ result: Result<RoleAnswer, AnswerTrouble>, of address: HostPort, now: MonotonicTime) {
        switch result {
        case .success(let answer):
            guard let growth = records[address]?.took(answer, now: now) else { return }
            history.add(growth)
        case .failure(let trouble):
            records[address]?.failed(PlainText.clean(trouble.description))
        }
    }

    /// Time passes: once a second or so.
    mutating func tick(now: MonotonicTime) {
        let fresh = freshRecords(now: now)
        partitions.update(fresh, now: now)
        history.tick(gauges(fresh), now: now)
    }

    // MARK: Telling

    /// - Parameter unixSeconds: the clock on the wall, for the page.
    func document(now: MonotonicTime, unixSeconds: Double) -> FleetDocument {
        let all = order.compactMap { records[$0] }
        let fresh = freshRecords(now: now)
        let silent = fresh.contains(where: \.isWorker) ? [] : all.filter(\.isWorker).map { $0.atRest() }
        let view = FleetView(fresh: fresh, silentWorkers: silent, partitions: partitions, now: now)
        let load = load(fresh, view)
        var document = FleetDocument(
            at: unixSeconds,
            processes: FleetView.processes(all, now: now),
            view: view,
            outcomes: FleetView.outcomes(fresh, history),
            delivery: FleetView.delivery(history),
            advice: Advice(load),
            history: HistoryDocument(history, slots: HistoryDocument.recentSlots)
        )
        document.attention = Attention.list(document, nameTroubles: nameTroubles)
        return document
    }

    private func freshRecords(now: MonotonicTime) -> [ProcessRecord] {
        order.compactMap { records[$0] }.filter { $0.isFresh(now: now) }
    }

    private func gauges(_ fresh: [ProcessRecord]) -> History.Gauges? {
        guard !fresh.isEmpty else { return nil }
        let workers = fresh.filter(\.isWorker)
        var gauges = History.Gauges()
        gauges.waitingRecords = PartitionMemory.sum(workers, \.waitingRecords)
        gauges.lagRecords = PartitionMemory.sum(workers, \.lagRecords)
        gauges.oldestSeconds = workers.flatMap { $0.answer?.topics ?? [] }.compactMap(\.oldestUnconfirmedSeconds).max()
        gauges.workers = workers.count
        gauges.cores = workers.reduce(0) { $0 + $1.rates.cores }
        return gauges
    }

    private func load(_ fresh: [ProcessRecord], _ view: FleetView) -> Advice.Load {
        let workers = fresh.filter(\.isWorker)
        let fiveMinutes = 300 / History.slotSeconds
        // Only workers tell what waits. Each lane is a Kafka topic.
        let lanes = Dictionary(grouping: view.partitions.filter { $0.waitingRecords != nil }, by: \.kafkaTopic)
        let fullest = lanes.max { left, right in
            let (leftWaits, rightWaits) = (Self.waiting(left.value), Self.waiting(right.value))
            return (leftWaits, left.value.count, left.key) < (rightWaits, right.value.count, right.key)
        }
        return Advice.Load(
            workers: workers.count,
            partitions: fullest?.value.count ?? 0,
            kafkaTopic: lanes.count > 1 ? fullest?.key : nil,
            waitingRecords: view.waitingRecords,
            recordsPerSecond: workers.reduce(0) { $0 + $1.rates.perSecond("records") },
            growthPerSecond: history.growth(of: { Double($0.waitingRecords) }, overSlots: fiveMinutes),
            meanCores: history.mean(of: \.cores, overSlots: History.slots)
        )
    }

    private static func waiting(_ partitions: [FleetDocument.Partition]) -> Int {
        partitions.reduce(0) { $0 + ($1.waitingRecords ?? 0) }
    }
}
