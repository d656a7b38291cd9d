import BelfrySupport
import PipelineCore
import PushSchemas

/// The answers of all processes put together, part by part. Pure.
struct FleetView: Sendable {
    let rates: FleetDocument.Rates
    let partitions: [FleetDocument.Partition]
    let waitingRecords: Int
    let lagRecords: Int
    let topics: [FleetDocument.Topic]
    let omittedTopics: Int
    let gateways: [FleetDocument.Gateways]
    let certificates: [FleetDocument.Certificate]
    let keys: [FleetDocument.Key]
    let harvests: [FleetDocument.Harvest]
    /// Since the last answer of any worker; nil: one answers, or none is known.
    let workersSilentSeconds: Double?

    /// - Parameters:
    ///   - fresh: the processes whose answers count.
    ///   - silentWorkers: all workers, if none of them answers: their last figures stay on the page.
    init(
        fresh: [ProcessRecord],
        silentWorkers: [ProcessRecord] = [],
        partitions memory: PartitionMemory,
        now: MonotonicTime
    ) {
        let workers = fresh.filter(\.isWorker)
        let telling = workers + silentWorkers
        workersSilentSeconds = silentWorkers.compactMap { $0.silenceSeconds(now: now) }.min()
        let answers = fresh.compactMap(\.answer)
        rates = Self.rates(fresh, workers)
        partitions = Self.partitions(memory, now: now)
        waitingRecords = PartitionMemory.sum(telling, \.waitingRecords)
        lagRecords = PartitionMemory.sum(telling, \.lagRecords)
        topics = Self.topics(fresh + silentWorkers)
        omittedTopics = answers.map(\.omittedTopics).max() ?? 0
        gateways = Self.gateways(answers + silentWorkers.compactMap { $0.answer?.withoutConnections })
        certificates = Self.certificates(answers)
        keys = Self.keys(answers)
        harvests = Self.harvests(fresh)
    }

    // MARK: Processes

    static func processes(_ records: [ProcessRecord], now: MonotonicTime) -> [FleetDocument.Process] {
        let described = records.map { record in
            let answer = record.answer
            let isFresh = record.isFresh(now: now)
            let (state, trouble): (FleetDocument.Process.State, String?) =
                switch record.state {
                case .new: (.new, nil)
                case .answers: isFresh ? (.answers, nil) : (.away, "no answer")
                case .away(let words): (.away, words)
                case .gone: (.gone, nil)
                }
            return FleetDocument.Process(
                address: PlainText.clean("\(record.address)"),
                state: state,
                role: answer?.role,
                programVersion: answer?.programVersion,
                isReady: answer?.isReady ?? false,
                obstacles: answer?.obstacles ?? [],
                trouble: trouble,
                silenceSeconds: record.silenceSeconds(now: now),
                uptimeSeconds: answer?.uptimeSeconds,
                residentBytes: answer?.residentBytes,
                openDescriptors: answer?.openDescriptors,
                restartNeeded: answer?.restartNeeded ?? [],
                controlsAgeSeconds: answer?.controlsAgeSeconds,
                cores: isFresh ? record.rates.cores : 0,
                perSecond: isFresh ? record.rates.perSecond(answer?.role == "worker" ? "sent" : "applied") : 0,
                partitions: isFresh ? answer?.partitions.count ?? 0 : 0
            )
        }
        // Workers first, and within a role in the order of the option.
        let order = ["worker", "registrar", "harvester"]
        func place(_ process: FleetDocument.Process) -> Int { order.firstIndex(of: process.role ?? "") ?? order.count }
        return described.enumerated().sorted { (place($0.element), $0.offset) < (place($1.element), $1.offset) }
            .map(\.element)
    }

    // MARK: Rates and outcomes

    private static func rates(_ fresh: [ProcessRecord], _ workers: [ProcessRecord]) -> FleetDocument.Rates {
        func sum(_ name: String, of records: [ProcessRecord]) -> Double {
            records.reduce(0) { $0 + $1.rates.perSecond(name) }
        }
        func sum(_ meaning: FleetDocument.Outcome.Meaning) -> Double {
            outcomeNames(meaning).reduce(0) { $0 + sum(RateWindow.Counters.outcome($1), of: workers) }
        }
        var rates = FleetDocument.Rates()
        rates.records = sum("records", of: workers)
        rates.notifications = sum("notifications", of: workers)
        rates.sent = sum("sent", of: workers)
        rates.accepted = sum(.accepted)
        rates.failed = sum(.failed)
        rates.spared = sum(.spared)
        rates.deadLetters = sum("deadLetters", of: fresh)
        rates.misplaced = sum("misplacedRecords", of: workers)
        rates.cores = workers.reduce(0) { $0 + $1.rates.cores }
        return rates
    }

    /// Outcomes that this console does not know are failures to a reader who looks for trouble.
    static func outcomeNames(_ meaning: FleetDocument.Outcome.Meaning) -> [String] {
        let known = OutcomeKind.allCases.filter { Self.meaning(of: $0) == meaning }.map(\.name)
        return meaning == .failed ? known + ["other"] : known
    }

    private static func meaning(of kind: OutcomeKind) -> FleetDocument.Outcome.Meaning {
        // A dead token is no trouble of the fleet, though its notification arrives nowhere.
        kind.isAcceptance ? .accepted : kind.isFailure && kind != .tombstoned ? .failed : .spared
    }

    /// All outcomes, those that this console does not know only if there are any.
    static func outcomes(_ fresh: [ProcessRecord], _ history: History) -> [FleetDocument.Outcome] {
        [FleetDocument.Outcome.Meaning.accepted, .spared, .failed].flatMap { meaning in
            outcomeNames(meaning).map { name in
                let count = RateWindow.Counters.outcome(name)
                return FleetDocument.Outcome(
                    name: name,
                    meaning: meaning,
                    perSecond: fresh.reduce(0) { $0 + $1.rates.perSecond(count) },
                    lastHour: history.sum(count)
                )
            }
        }
        .filter { $0.name != "other" || $0.lastHour > 0 }
    }

    /// Of the last minute: topics that keep up first.
    static func delivery(_ history: History) -> [FleetDocument.Delivery] {
        history.delivery(overSlots: 60 / History.slotSeconds).sorted { $0.key < $1.key }.map { way, counts in
            FleetDocument.Delivery(
                transport: way.transport.rawValue,
                topicClass: way.topicClass.rawValue,
                handedOver: FleetDocument.Delivery.Times(counts.handedOver),
                settled: FleetDocument.Delivery.Times(counts.settled)
            )
        }
    }

    // MARK: Partitions and topics

    private static func partitions(_ memory: PartitionMemory, now: MonotonicTime) -> [FleetDocument.Partition] {
        memory.entries.sorted { $0.key < $1.key }.map { place, entry in
            FleetDocument.Partition(
                kafkaTopic: place.kafkaTopic,
                number: place.number,
                lagRecords: entry.partition.lagRecords,
                waitingRecords: entry.partition.waitingRecords,
                behindTopics: entry.partition.behindTopics,
                isStanding: entry.partition.isStanding,
                holders: entry.holders.map { PlainText.clean("\($0)") },
                unheldSeconds: entry.unheldSince.map { $0.elapsed(until: now) / .seconds(1) }
            )
        }
    }

    /// Topics that do not work first, then those that are paused, then those that lag most, then the busiest.
    private static func topics(_ fresh: [ProcessRecord]) -> [FleetDocument.Topic] {
        var merged: [RoleAnswer.TopicName: (topic: RoleAnswer.Topic, rate: Double, stopped: [String])] = [:]
        for record in fresh {
            for topic in record.answer?.topics ?? [] {
                let rate = record.rates.perSecond(of: topic.name)
                let stopped = topic.stoppedBecause.map { [$0] } ?? []
                if let former = merged[topic.name] {
                    merged[topic.name] = (former.topic.adding(topic), former.rate + rate, former.stopped + stopped)
                } else {
                    merged[topic.name] = (topic, rate, stopped)
                }
            }
        }
        let topics = merged.values.map { topic, rate, stopped in
            FleetDocument.Topic(
                topic: topic.name.topic,
                environment: topic.name.environment,
                stoppedBecause: stopped.first,
                why: stopped.first.map(StopReason.words),
                stoppedAt: stopped.count,
                isPaused: topic.isPaused,
                pausedLanes: topic.pausedLanes.unlessAll,
                pace: topic.pace,
                pacedLanes: topic.pacedLanes.unlessAll,
                discardsBefore: topic.discardsBefore,
                discardingLanes: topic.discardingLanes.unlessAll,
                lagRecords: topic.lagRecords,
                laggingLanes: topic.laggingLanes,
                cursorAgeSeconds: topic.cursorAgeSeconds,
                oldestUnconfirmedSeconds: topic.oldestUnconfirmedSeconds,
                inFlight: topic.inFlight,
                waiting: topic.waiting,
                openConnections: topic.openConnections,
                acceptedPerSecond: rate
            )
        }
        return topics.sorted { left, right in
            if left.rest != right.rest { return left.rest > right.rest }
            if left.lagRecords != right.lagRecords { return left.lagRecords > right.lagRecords }
            if left.acceptedPerSecond != right.acceptedPerSecond {
                return left.acceptedPerSecond > right.acceptedPerSecond
            }
            return (left.topic, left.environment) < (right.topic, right.environment)
        }
    }
}

extension FleetDocument.Topic {
    /// The degree to which it is kept from sending.
    fileprivate var rest: Int { stoppedBecause != nil ? 2 : isPaused ? 1 : 0 }
}

extension [String] {
    /// The lanes of a lever; empty if it holds in all, which needs no naming.
    fileprivate var unlessAll: Self { self == RoleAnswer.lanes ? [] : self }
}

extension RoleAnswer.Topic {
    /// The same topic in two processes.
    fileprivate func adding(_ other: Self) -> Self {
        func later(_ left: Double?, _ right: Double?) -> Double? {
            left == nil && right == nil ? nil : max(left ?? 0, right ?? 0)
        }
        func either(_ lanes: KeyPath<Self, [String]>) -> [String] {
            let (here, there) = (self[keyPath: lanes], other[keyPath: lanes])
            return RoleAnswer.lanes.filter { here.contains($0) || there.contains($0) }
        }
        var sum = self
        // Workers hear of an order one after the other.
        sum.isPaused = isPaused || other.isPaused
        sum.pausedLanes = either(\.pausedLanes)
        sum.pace = [pace, other.pace].compactMap(\.self).min()
        sum.pacedLanes = either(\.pacedLanes)
        sum.discardsBefore = [discardsBefore, other.discardsBefore].compactMap(\.self).max()
        sum.discardingLanes = either(\.discardingLanes)
        sum.lagRecords += other.lagRecords
        sum.laggingLanes = either(\.laggingLanes)
        sum.cursorAgeSeconds = later(cursorAgeSeconds, other.cursorAgeSeconds)
        sum.oldestUnconfirmedSeconds = later(oldestUnconfirmedSeconds, other.oldestUnconfirmedSeconds)
        sum.inFlight += other.inFlight
        sum.waiting += other.waiting
        sum.openConnections += other.openConnections
        return sum
    }
}
