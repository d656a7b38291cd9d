import Testing

@testable import PipelineCore

@Suite("What a topic may do in a shard")
struct AppFlowTests {
    private struct Lanes: AppFlowLanes {
        var inFlightCount = 0
        var waitingCount = 0
        var isQuiet = true
        var isStranded = false
    }

    private static let now = MonotonicTime(nanoseconds: 1_000_000_000)
    private static let stopped = AppHealth.State.stopped(.unreachable, until: now)
    private static let probing = AppHealth.State.probing(.unreachable, shard: 0, until: now + .seconds(1))
    private static let probedElsewhere = AppHealth.State.probing(.unreachable, shard: 1, until: now + .seconds(1))

    private var flow = AppFlow()
    private var lanes = Lanes()

    // Expectations cannot hold mutating calls.

    private mutating func look(_ health: AppHealth.State) -> [AppFlow.Action] {
        flow.look(health, shard: 0, lanes: lanes)
    }

    private mutating func suspended(_ health: AppHealth.State, isHeld: Bool = false) -> [AppFlow.Action] {
        flow.suspended(health, shard: 0, isHeld: isHeld, now: Self.now, lanes: lanes)
    }

    private mutating func feeding(
        _ health: AppHealth.State = .works,
        waits: Bool = false,
        isGivenUp: Bool = false,
        givesWay: Bool = false
    ) -> AppFlow.Feeding {
        flow.feed(health, waitsForTokenState: waits, isGivenUp: { isGivenUp }, givesWay: givesWay)
        return flow.feeding
    }

    @Test("A topic that stops is told once, suspended, given up when it is quiet, probed, and told when it works again")
    mutating func stops() {
        _ = flow.lanesMade()
        lanes.isQuiet = false
        let first = look(Self.stopped)
        #expect(first == [.tellStopped, .suspend] && flow.sending == .suspending)
        let waiting = suspended(Self.stopped)
        let fed = feeding(Self.stopped)
        #expect(waiting.isEmpty && fed == .nothing, "what is in flight settles")
        lanes.isQuiet = true
        let second = look(Self.stopped)
        let quiet = suspended(Self.stopped)
        #expect(second == [.suspend] && quiet == [.rewind])
        flow.rewound()
        let probe = feeding(Self.stopped)
        #expect(flow.sending == .held && probe == .notifications(1))
        let idle = suspended(Self.stopped)
        #expect(idle.isEmpty, "there is nothing to probe with")
        lanes.waitingCount = 1
        let held = suspended(Self.stopped, isHeld: true)
        let begin = suspended(Self.stopped)
        #expect(held.isEmpty && begin == [.beginProbe])
        flow.probeBegan()
        let again = look(Self.probing)
        #expect(again == [.admitProbe])
        let works = look(.works)
        let all = feeding()
        #expect(works == [.admitAll, .tellWorks] && all == .all)
        let rest = look(.works)
        #expect(rest.isEmpty && flow.isAtRest)
    }

    @Test("A held topic stays held while it is stopped; when its probe has failed it is suspended anew")
    mutating func stillStopped() {
        _ = look(Self.stopped)
        flow.rewound()
        let second = look(Self.stopped)
        #expect(second == [.suspend] && flow.sending == .held, "the record that waits for a probe is not given up")
        flow.probeBegan()
        let failed = look(Self.stopped)
        #expect(failed == [.suspend] && flow.sending == .suspending)
    }

    @Test("Before its time nothing probes, nor what another shard probes, nor a topic without a certificate")
    mutating func noProbe() {
        lanes.waitingCount = 1
        flow.recall()
        flow.rewound()
        #expect(flow.sending == .held)
        let early = suspended(.stopped(.unreachable, until: Self.now + .nanoseconds(1)))
        let elsewhere = suspended(Self.probedElsewhere)
        flow.lookAtCertificate(of: 1) { false }
        flow.rewound()
        let uncertified = suspended(Self.stopped)
        #expect(early.isEmpty && elsewhere.isEmpty && uncertified.isEmpty)
    }

    @Test("A probe of tokens that are doubted is a sample; another one is one notification; where none is it ends")
    mutating func probes() {
        _ = flow.lanesMade()
        let begun = look(Self.probing)
        #expect(begun.isEmpty && flow.sending == .probing)
        let one = feeding(Self.probing)
        let sample = feeding(.probing(.tokensDoubted, shard: 0, until: Self.now))
        #expect(one == .notifications(1) && sample == .notifications(AppFlow.probeSample) && flow.isProbed)
        let other = feeding(Self.probing, givesWay: true)
        #expect(other == .discards && !flow.isProbed)
        flow.lookAtCertificate(of: 1) { false }
        lanes.inFlightCount = 1
        let settles = look(Self.probing)
        lanes.inFlightCount = 0
        let ended = look(Self.probing)
        #expect(settles == [.admitProbe] && ended == [.endProbe])
    }

    @Test("A topic is kept warm while it may send: not while it is paused, has no certificate, or does not work")
    mutating func keptWarm() {
        #expect(!flow.keepsWarm)
        flow.isKeptWarm = true
        #expect(flow.keepsWarm)
        flow.use(isPaused: true)
        #expect(!flow.keepsWarm)
        flow.use(isPaused: false)
        flow.lookAtCertificate(of: 1) { false }
        #expect(!flow.keepsWarm)
        flow.lookAtCertificate(of: 2) { true }
        #expect(flow.keepsWarm)
        _ = look(Self.stopped)
        #expect(!flow.keepsWarm)
    }

    @Test("A paused topic is fed nothing at once, given up when it is quiet, and goes on without a word")
    mutating func paused() {
        _ = flow.lanesMade()
        flow.use(isPaused: true)
        #expect(flow.feeding == .nothing && !flow.isAtRest)
        flow.recall()
        #expect(flow.isRecalled && flow.sending == .suspending)
        lanes.isQuiet = false
        let first = look(.works)
        let waiting = suspended(.works)
        #expect(first == [.suspend] && waiting.isEmpty)
        lanes.isQuiet = true
        let quiet = suspended(.works)
        #expect(quiet == [.rewind])
        flow.rewound()
        let fed = feeding()
        let still = suspended(.works)
        #expect(!flow.isRecalled && fed == .discards && still.isEmpty)
        flow.use(isPaused: false)
        let works = look(.works)
        #expect(works == [.admitAll], "it was the operator's will alone")
    }

    @Test("A topic that stopped while it was held back is told of once it is let go")
    mutating func stoppedWhilePaused() {
        flow.use(isPaused: true)
        flow.recall()
        _ = look(Self.stopped)
        flow.rewound()
        flow.use(isPaused: false)
        let first = look(Self.stopped)
        let second = look(Self.stopped)
        #expect(first == [.tellStopped, .suspend] && second == [.suspend])
        let works = look(.works)
        #expect(works == [.admitAll, .tellWorks])
    }

    @Test("A probe in flight settles before its topic is held back, and is then another shard's")
    mutating func pausedProbe() {
        _ = look(Self.probing)
        flow.use(isPaused: true)
        flow.recall()
        #expect(flow.sending == .probing)
        lanes.inFlightCount = 1
        let settles = suspended(Self.probing)
        lanes.inFlightCount = 0
        let left = suspended(Self.probing)
        #expect(settles.isEmpty && left == [.leaveProbe, .rewind] && flow.sending == .suspending)
    }

    @Test("Lanes that are made while their topic is paused send nothing")
    mutating func madeWhilePaused() {
        flow.use(isPaused: true)
        let isSuspended = flow.lanesMade()
        #expect(isSuspended && flow.sending == .suspending)
        var other = AppFlow()
        let goesOn = other.lanesMade()
        #expect(!goesOn && other.sending == .all)
    }

    @Test("Without a certificate lanes with a connection go on, and what is stranded is given up")
    mutating func withoutCertificate() {
        _ = flow.lanesMade()
        flow.lookAtCertificate(of: 1) { false }
        let goesOn = look(.works)
        #expect(goesOn.isEmpty && flow.sending == .suspending)
        lanes.isStranded = true
        let stranded = look(.works)
        #expect(stranded == [.rewind])
        flow.rewound()
        flow.lookAtCertificate(of: nil) { false }
        let held = look(.works)
        let fed = feeding()
        let given = feeding(isGivenUp: true)
        #expect(held.isEmpty && fed == .discards && given == .deadLetters(records: AppFlow.givenUpAtOnce))
        flow.tookDeadLetter()
        #expect(flow.feeding == .deadLetters(records: AppFlow.givenUpAtOnce - 1))
        flow.lookAtCertificate(of: 2) { true }
        let works = look(.works)
        #expect(works == [.admitAll, .tellWorks])
    }

    @Test("A certificate is looked for once for a generation, and each time without one")
    mutating func generations() {
        var looks = 0
        func ask(_ generation: UInt64?) -> Bool {
            flow.lookAtCertificate(of: generation) {
                looks += 1
                return looks != 2
            }
            return flow.hasCertificate
        }
        #expect(ask(7) && ask(7) && looks == 1)
        #expect(!ask(8) && !ask(8) && looks == 2)
        #expect(ask(nil) && ask(nil) && looks == 4)
    }

    @Test("Nothing but what was discarded is fed while token state is waited for, and nothing before the first look")
    mutating func waits() {
        flow.waitForLook()
        #expect(flow.feeding == .nothing)
        let waiting = feeding(waits: true)
        let all = feeding()
        #expect(waiting == .discards && all == .all)
        let unknown = feeding(Self.stopped)
        #expect(unknown == .notifications(1), "another shard knows that it has stopped")
    }

    @Test("A record that waits for a probe gives way, and is given up")
    mutating func givesWay() {
        flow.recall()
        flow.giveWay()
        #expect(flow.sending == .suspending)
        flow.rewound()
        flow.giveWay()
        let actions = suspended(Self.stopped)
        #expect(actions == [.rewind])
        var other = AppFlow()
        other.giveWay()
        #expect(other.sending == .all)
    }
}
