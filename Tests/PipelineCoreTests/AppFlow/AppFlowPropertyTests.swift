import TestSupport
import Testing

@testable import PipelineCore

/// Random lives of a topic in a shard, whose lanes do as they are told.
@Suite("What a topic may do after any events")
struct AppFlowPropertyTests {
    private struct Lanes: AppFlowLanes {
        var inFlightCount = 0
        var waitingCount = 0
        var admission = Admission.all
        var isQuiet: Bool { inFlightCount == 0 && admission == .none }
        var isStranded: Bool { inFlightCount == 0 && waitingCount > 0 }
    }

    private struct Life {
        var random: SeededGenerator
        var flow = AppFlow()
        var lanes = Lanes()
        var health = AppHealth.State.works
        var isPaused = false
        var isHeld = false
        var hasCertificate = true
        var generation: UInt64 = 0
        var now = MonotonicTime(nanoseconds: 0)

        init(seed: UInt64) {
            random = SeededGenerator(seed: seed)
            _ = flow.lanesMade()
        }

        mutating func happen() {
            now = now + .milliseconds(20)
            switch random.pick(0...9) {
            case 0: health = .works
            case 1: health = .stopped(.unreachable, until: now + .milliseconds(random.pick(0...100)))
            case 2: health = .probing(.tokensDoubted, shard: random.pick(0...1), until: now + .seconds(1))
            case 3:
                isPaused.toggle()
                flow.use(isPaused: isPaused)
                if isPaused { recall() }
            case 4: recall()
            case 5:
                hasCertificate.toggle()
                generation += 1
            case 6: isHeld.toggle()
            case 7: flow.giveWay()
            case 8: lanes.waitingCount += random.pick(0...3)
            default: lanes.inFlightCount = 0
            }
            flow.lookAtCertificate(of: generation) { hasCertificate }
        }

        mutating func recall() {
            flow.recall()
            if flow.sending != .probing { lanes.admission = .none }
        }

        /// - Returns: what was done.
        mutating func look() -> [AppFlow.Action] {
            var done: [AppFlow.Action] = []
            for action in flow.look(health, shard: 0, lanes: lanes) {
                done.append(action)
                carryOut(action)
                guard action == .suspend else { continue }
                let next = flow.suspended(health, shard: 0, isHeld: isHeld, now: now, lanes: lanes)
                for action in next { carryOut(action) }
                done += next
            }
            return done
        }

        private mutating func carryOut(_ action: AppFlow.Action) {
            switch action {
            case .admitAll: lanes.admission = .all
            case .admitProbe: lanes.admission = .one
            case .suspend: lanes.admission = .none
            case .beginProbe:
                health = .probing(.unreachable, shard: 0, until: now + .seconds(1))
                flow.probeBegan()
                lanes.admission = .one
            case .endProbe, .leaveProbe: health = .stopped(.unreachable, until: now)
            case .rewind:
                lanes.waitingCount = 0
                flow.rewound()
            case .tellStopped, .tellWorks: break
            }
        }

        mutating func send() {
            let room = lanes.admission == .all ? lanes.waitingCount : lanes.admission == .one ? 1 : 0
            let count = min(room, lanes.waitingCount)
            guard lanes.admission == .all || lanes.inFlightCount == 0 else { return }
            lanes.waitingCount -= count
            lanes.inFlightCount += count
        }
    }

    @Test(
        "Everything is admitted and fed only where nothing speaks against it, and what is given up is with no gateway"
    )
    func rules() {
        for seed in 1...400 as ClosedRange<UInt64> {
            var life = Life(seed: seed)
            for _ in 0..<200 {
                life.happen()
                let before = life
                let done = life.look()
                let isFree = !before.isPaused && !before.flow.isRecalled
                if done.contains(.admitAll) {
                    #expect(isFree && before.health == .works && before.hasCertificate, "seed \(seed)")
                }
                if done.contains(.beginProbe) {
                    #expect(isFree && before.hasCertificate && !before.isHeld, "seed \(seed)")
                    #expect(before.lanes.waitingCount > 0 && before.health.reason != nil, "seed \(seed)")
                }
                if done.contains(.rewind) { #expect(before.lanes.inFlightCount == 0, "seed \(seed)") }
                if done.contains(.leaveProbe) || done.contains(.endProbe) {
                    #expect(before.lanes.inFlightCount == 0, "seed \(seed)")
                }
                let waits = life.random.pick(0...3) == 0
                life.flow.feed(life.health, waitsForTokenState: waits, isGivenUp: { false }, givesWay: false)
                if life.flow.feeding == .all {
                    #expect(
                        !life.isPaused && !waits && life.hasCertificate && life.flow.sending == .all,
                        "seed \(seed)"
                    )
                }
                life.send()
            }
        }
    }

    @Test("However it lived, a topic that works, has its certificate and is not held back sends everything soon")
    func goesOn() {
        for seed in 1...400 as ClosedRange<UInt64> {
            var life = Life(seed: seed)
            for _ in 0..<100 {
                life.happen()
                _ = life.look()
                life.send()
            }
            life.health = .works
            life.isPaused = false
            life.flow.use(isPaused: false)
            life.flow.lookAtCertificate(of: nil) { true }
            for _ in 0..<2 {
                life.lanes.inFlightCount = 0
                _ = life.look()
            }
            life.flow.feed(.works, waitsForTokenState: false, isGivenUp: { false }, givesWay: false)
            #expect(
                life.flow.sending == .all && life.flow.feeding == .all && life.lanes.admission == .all,
                "seed \(seed)"
            )
        }
    }
}
