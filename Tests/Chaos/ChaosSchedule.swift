import Workbench

/// Disturbances of the pipeline, with their times. Seeded, the same for the same seed and duration.
///
/// Three tracks run side by side and know nothing of each other: one stops servers, one kills, stops and starts
/// workers, one switches faults on and off. At the end all is as it was at the beginning.
struct ChaosSchedule: Equatable, Sendable {
    enum Action: Hashable, Sendable {
        /// `kill -9` of a worker: which of those that run, modulo their number.
        case killWorker(Int)
        /// SIGTERM to a worker, as scaling down does.
        case stopWorker(Int)
        case startWorker
        case stopBroker
        case startBroker
        case stopRedis
        case startRedis
        case setFault(ChaosFault)
        case clearFaults

        /// As counted in the result.
        var name: String? {
            switch self {
            case .killWorker: "worker-kill"
            case .stopWorker: "worker-stop"
            case .stopBroker: "broker-outage"
            case .stopRedis: "redis-outage"
            case .startWorker, .startBroker, .startRedis, .setFault, .clearFaults: nil
            }
        }
    }

    struct Event: Equatable, Sendable {
        /// Since the beginning.
        var milliseconds: Int
        var action: Action
    }

    static let workersAtStart = 3
    static let workers = 1...4
    static let outageLimitMilliseconds = 10_000
    /// From the end of the last disturbance to the end.
    static let calmMilliseconds = 1000
    static let seconds = 10...3600

    /// The broker is away for longer than the session of a consumer lasts ([ours]: 6 s): the broker that is used
    /// forgets its groups when it stops, other than Kafka, and would hand partitions to a new owner while the old one
    /// still believes in its session. A consumer that has heard nothing for that long has given them up by itself.
    private static let brokerOutage = 7500...8000
    private static let redisOutage = 1000...8000
    private static let betweenOutages = 6000...14_000
    private static let faultOn = 3000...8000
    private static let faultOff = 500...3000
    private static let betweenWorkers = 2500...9000

    /// In order of time.
    private(set) var events: [Event] = []

    /// - Parameters:
    ///   - seconds: of ``seconds``.
    ///   - menu: the faults of the sandbox.
    init(seed: UInt64, seconds: Int, menu: [ChaosFault] = FaultMenu.usual) {
        precondition(Self.seconds.contains(seconds), "a duration that is allowed")
        let end = seconds * 1000 - Self.calmMilliseconds
        // Each track has randomness of its own, so that a change of one leaves the others as they were.
        events += Self.servers(SeededGenerator(seed: seed ^ 0x5E4), end)
        events += Self.workers(SeededGenerator(seed: seed ^ 0x3043), end)
        events += Self.faults(SeededGenerator(seed: seed ^ 0xFA17), end, menu)
        let order = events.enumerated().sorted {
            ($0.element.milliseconds, $0.offset) < ($1.element.milliseconds, $1.offset)
        }
        events = order.map(\.element)
    }

    /// Broker and Redis in turns, one at a time.
    private static func servers(_ random: SeededGenerator, _ end: Int) -> [Event] {
        var random = random
        var events: [Event] = []
        var time = random.pick(2000...4000)
        var isBroker = true
        while true {
            let outage = random.pick(isBroker ? brokerOutage : redisOutage)
            guard time + outage <= end else { return events }
            events.append(Event(milliseconds: time, action: isBroker ? .stopBroker : .stopRedis))
            events.append(Event(milliseconds: time + outage, action: isBroker ? .startBroker : .startRedis))
            time += outage + random.pick(betweenOutages)
            isBroker.toggle()
        }
    }

    /// Down to one, up to four and back to three, again and again; at some of the steps a worker is killed as well and
    /// comes back.
    private static func workers(_ random: SeededGenerator, _ end: Int) -> [Event] {
        var random = random
        var events: [Event] = []
        var running = workersAtStart
        var isGrowing = false
        var time = random.pick(1000...3000)
        while time < end {
            if running > workers.lowerBound, random.pick(0...1) == 0 {
                // Back before the next step, so that the count stays what this track says.
                let back = min(end, time + random.pick(1000...4000))
                events.append(Event(milliseconds: time, action: .killWorker(random.pick(0...11))))
                events.append(Event(milliseconds: back, action: .startWorker))
                time = back
            } else {
                if running == workers.upperBound { isGrowing = false }
                if running == workers.lowerBound { isGrowing = true }
                running += isGrowing ? 1 : -1
                let action = isGrowing ? Action.startWorker : .stopWorker(random.pick(0...11))
                events.append(Event(milliseconds: time, action: action))
            }
            time += random.pick(betweenWorkers)
        }
        while running != workersAtStart {
            events.append(
                Event(
                    milliseconds: end,
                    action: running < workersAtStart ? .startWorker : .stopWorker(random.pick(0...11))
                )
            )
            running += running < workersAtStart ? 1 : -1
        }
        return events
    }

    /// One fault at a time, each of the menu once before one comes a second time.
    private static func faults(_ random: SeededGenerator, _ end: Int, _ menu: [ChaosFault]) -> [Event] {
        var random = random
        var events: [Event] = []
        var left: [ChaosFault] = []
        var time = random.pick(500...2000)
        while time < end {
            if left.isEmpty { left = menu.shuffled(using: &random) }
            let off = min(end, time + random.pick(faultOn))
            events.append(Event(milliseconds: time, action: .setFault(left.removeLast())))
            events.append(Event(milliseconds: off, action: .clearFaults))
            time = off + random.pick(faultOff)
        }
        return events
    }
}
