import LocalPipeline
import Workbench

/// Disturbances of the pipeline, with their times. Seeded, the same for the same seed, duration and Redis.
///
/// Tracks run side by side: one stops servers, one for each role kills, stops and starts its processes, one switches
/// faults on and off, one lists feedback. At the end all is as it was at the beginning.
///
/// In the first long time without outages a worker stands still; in the next one no worker starts or ends for a while,
/// before one is killed; and so on in turns. Only after such a rest it shows whether a worker commits: else there is
/// always a change of the group that could have kept it from it.
struct ChaosSchedule: Equatable, Sendable {
    struct Event: Equatable, Sendable {
        /// Since the beginning.
        var milliseconds: Int
        var action: ChaosAction

        init(_ milliseconds: Int, _ action: ChaosAction) {
            self.milliseconds = milliseconds
            self.action = action
        }
    }

    static let workersAtStart = 3
    static let workers = 1...4
    static let outageLimitMilliseconds = 10_000
    /// From the end of the last disturbance to the end.
    static let calmMilliseconds = 1000
    static let seconds = 10...3600

    private static let faultOn = 3000...8000
    private static let faultOff = 500...3000
    private static let betweenWorkers = 2500...9000
    /// A worker stands still for longer than its session and the time that a new owner needs to send and to commit.
    static let freezeMilliseconds = 15_000
    /// See ``RepeatAudit/Bounds/reachSeconds``: longer than that, with the confirmation window and delays.
    static let restMilliseconds = 20_000
    /// From the beginning of a long gap to the step that belongs to it.
    private static let afterGapStart = 500
    private static let betweenListings = 500...1500
    private static let listed = 10...60
    /// From the last listing to the end: harvesters read once a second.
    private static let afterListings = 2000

    /// In order of time.
    private(set) var events: [Event] = []

    /// - Parameters:
    ///   - seconds: of ``seconds``.
    ///   - menu: the faults of the sandbox.
    init(
        seed: UInt64,
        seconds: Int,
        menu: [ChaosFault] = FaultMenu.usual,
        redis: ChaosOptions.Redis = .cluster
    ) {
        precondition(Self.seconds.contains(seconds), "a duration that is allowed")
        let end = seconds * 1000 - Self.calmMilliseconds
        // Each track has randomness of its own, so that a change of one leaves the others as they were.
        let servers = ServerTrack(SeededGenerator(seed: seed ^ 0x5E4), end: end, redis: redis)
        events += servers.events
        events += Self.workers(SeededGenerator(seed: seed ^ 0x3043), end, servers.longGaps)
        for (role, salt) in [(ChaosRole.registrar, 0x4E6), (.harvester, 0x4A7)] as [(ChaosRole, UInt64)] {
            events += StandbyTrack.events(of: role, SeededGenerator(seed: seed ^ salt), beside: servers, end: end)
        }
        events += Self.faults(SeededGenerator(seed: seed ^ 0xFA17), end, menu)
        events += Self.listings(SeededGenerator(seed: seed ^ 0xFEED), end)
        let order = events.enumerated().sorted {
            ($0.element.milliseconds, $0.offset) < ($1.element.milliseconds, $1.offset)
        }
        events = order.map(\.element)
    }

    /// Feedback is listed, and nothing is disturbed.
    ///
    /// - Parameters:
    ///   - seed: of what is listed.
    ///   - seconds: of ``seconds``.
    init(calm seed: UInt64, seconds: Int) {
        precondition(Self.seconds.contains(seconds), "a duration that is allowed")
        events = Self.listings(SeededGenerator(seed: seed ^ 0xFEED), seconds * 1000 - Self.calmMilliseconds)
    }

    /// Down to one, up to four and back to three, again and again; at some of the steps a worker is killed as well and
    /// comes back.
    private static func workers(_ random: SeededGenerator, _ end: Int, _ longGaps: [Range<Int>]) -> [Event] {
        var random = random
        var events: [Event] = []
        var running = workersAtStart
        var isGrowing = false
        var gaps = longGaps.map { $0.lowerBound + afterGapStart }[...]
        var isRestNext = false
        var time = random.pick(1000...3000)
        while time < end {
            if let gap = gaps.first, gap <= time {
                gaps.removeFirst()
                if running == workers.lowerBound {
                    events.append(Event(gap, .start(.worker)))
                    running += 1
                }
                let pick = random.pick(0...11)
                if isRestNext {
                    time = max(time, gap + restMilliseconds)
                    let back = min(end, time + random.pick(1000...4000))
                    events += [Event(time, .kill(.worker, pick: pick)), Event(back, .start(.worker))]
                    time = back
                } else {
                    events += [Event(time, .freeze(pick: pick)), Event(time + freezeMilliseconds, .thaw)]
                    time += freezeMilliseconds
                }
                isRestNext.toggle()
                time += random.pick(betweenWorkers)
                continue
            }
            if running > workers.lowerBound, random.pick(0...1) == 0 {
                // Back before the next step, so that the count stays what this track says.
                let back = min(end, time + random.pick(1000...4000))
                events.append(Event(time, .kill(.worker, pick: random.pick(0...11))))
                events.append(Event(back, .start(.worker)))
                time = back
            } else {
                if running == workers.upperBound { isGrowing = false }
                if running == workers.lowerBound { isGrowing = true }
                running += isGrowing ? 1 : -1
                events.append(Event(time, isGrowing ? .start(.worker) : .stop(.worker, pick: random.pick(0...11))))
            }
            time += random.pick(betweenWorkers)
            // A worker that comes back just then may be late for it.
            if let gap = gaps.first { time = max(events.last?.milliseconds ?? 0, min(time, gap)) }
        }
        while running != workersAtStart {
            let isFew = running < workersAtStart
            events.append(Event(end, isFew ? .start(.worker) : .stop(.worker, pick: random.pick(0...11))))
            running += isFew ? 1 : -1
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
            events.append(Event(time, .setFault(left.removeLast())))
            events.append(Event(off, .clearFaults))
            time = off + random.pick(faultOff)
        }
        return events
    }

    /// Apps are found missing all the time.
    private static func listings(_ random: SeededGenerator, _ end: Int) -> [Event] {
        var random = random
        var events: [Event] = []
        var time = random.pick(betweenListings)
        while time < end - afterListings {
            let listing = FeedbackListing(
                topic: random.pick(0...11),
                first: random.pick(0...1_000_000),
                count: random.pick(listed),
                disorder: random.pick(0...Int(RegistrationStream.disorderSeconds))
            )
            events.append(Event(time, .listFeedback(listing)))
            time += random.pick(betweenListings)
        }
        return events
    }
}
