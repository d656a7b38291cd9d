import LocalPipeline
import TestSupport
import Testing

@testable import Sandbox
@testable import belfry_chaos

@Suite("The schedule of a chaos run")
struct ChaosScheduleTests {
    private static let durations = [10, 20, 60, 300]
    private static let seeds: ClosedRange<UInt64> = 1...200

    /// Calls `body` with many schedules.
    private func each(_ body: (ChaosSchedule, Int) -> Void) {
        for seconds in Self.durations {
            for seed in Self.seeds { body(ChaosSchedule(seed: seed, seconds: seconds), seconds) }
        }
    }

    @Test("The same seed and duration make the same schedule, another seed another one")
    func seeded() {
        #expect(ChaosSchedule(seed: 7, seconds: 60) == ChaosSchedule(seed: 7, seconds: 60))
        #expect(ChaosSchedule(seed: 7, seconds: 60) != ChaosSchedule(seed: 8, seconds: 60))
    }

    private static let atStart: [ChaosRole: Int] = [
        .worker: ChaosSchedule.workersAtStart, .registrar: StandbyTrack.members, .harvester: StandbyTrack.members,
    ]

    /// Of servers one is away at a time, for ten seconds at most, and a slot moves only while all are there. Of
    /// registrars and harvesters one is away at a time. Of workers one to four run; one that stands still does so for
    /// longer than its session, beside another one. One fault is on at a time.
    @Test("Each step is one that the pipeline's state allows, and in the end, after a calm, all is as it was")
    func steps() {
        each { schedule, seconds in
            var running = Self.atStart
            var away: ChaosSchedule.Event?
            var frozenSince: Int?
            var (isSlotOpen, isFaultOn, last) = (false, false, 0)
            for event in schedule.events {
                let time = event.milliseconds
                #expect(time >= last)
                last = time
                switch event.action {
                case .kill(let role, _), .stop(let role, _): running[role, default: 0] -= 1
                case .start(let role): running[role, default: 0] += 1
                case .stopBroker, .stopRedis, .cutReplica:
                    #expect(away == nil && !isSlotOpen)
                    away = event
                case .killMaster: #expect(away?.action.isCut == true && !isSlotOpen)
                case .startBroker, .startRedis, .reviveMaster:
                    #expect(away?.action.isEnded(by: event.action) == true && !isSlotOpen)
                    #expect(time - (away?.milliseconds ?? 0) <= ChaosSchedule.outageLimitMilliseconds)
                    away = nil
                case .openSlot:
                    #expect(away == nil && !isSlotOpen)
                    isSlotOpen = true
                case .closeSlot:
                    #expect(isSlotOpen)
                    isSlotOpen = false
                case .freeze:
                    #expect(frozenSince == nil)
                    frozenSince = time
                case .thaw:
                    #expect(Duration.milliseconds(time - (frozenSince ?? time)) >= RoleFleet.session * 2)
                    frozenSince = nil
                case .setFault:
                    #expect(!isFaultOn)
                    isFaultOn = true
                case .clearFaults: isFaultOn = false
                case .listFeedback: break
                }
                let workers = running[.worker] ?? 0
                #expect(ChaosSchedule.workers.contains(workers) && (frozenSince == nil || workers > 1))
                for role in [ChaosRole.registrar, .harvester] {
                    #expect((StandbyTrack.members - 1...StandbyTrack.members).contains(running[role] ?? 0))
                }
            }
            #expect(last <= seconds * 1000 - ChaosSchedule.calmMilliseconds)
            #expect(away == nil && frozenSince == nil && !isSlotOpen && !isFaultOn && running == Self.atStart)
        }
    }

    @Test("Of five minutes a while is without any change of the workers, and ends with a kill")
    func rest() {
        let needed = Duration.milliseconds(ChaosSchedule.restMilliseconds - 4000)
        for seed in Self.seeds {
            let events = ChaosSchedule(seed: seed, seconds: 300).events.filter {
                switch $0.action {
                case .kill(.worker, _), .stop(.worker, _), .start(.worker), .freeze, .thaw, .stopBroker: true
                default: false
                }
            }
            let hasRest = zip(events, events.dropFirst()).contains { before, after in
                guard case .kill(.worker, _) = after.action else { return false }
                return .milliseconds(after.milliseconds - before.milliseconds) >= needed
            }
            #expect(hasRest, "seed \(seed)")
        }
    }

    @Test("After a round of outages every role has a kill or a stop with time enough to see a takeover")
    func watched() {
        for seed in Self.seeds {
            let servers = ServerTrack(SeededGenerator(seed: seed), end: 299_000, redis: .cluster)
            let long = servers.gaps.filter { $0.count == ServerTrack.longGap }
            #expect(!long.isEmpty)
            let events = StandbyTrack.events(
                of: .registrar,
                SeededGenerator(seed: seed + 1),
                beside: servers,
                end: 299_000
            )
            for gap in long {
                let signal = gap.lowerBound + StandbyTrack.settling
                #expect(events.contains { $0.milliseconds == signal && $0.action.name != nil })
                let rest = Duration.milliseconds(gap.upperBound - signal)
                #expect(rest > TakeoverMeter.Signal.kill.limit(session: RoleFleet.session))
                #expect(rest > TakeoverMeter.Signal.stop.limit(session: RoleFleet.session))
            }
        }
    }

    @Test("Half a minute has the broker away, a fail-over and a slot that moves")
    func short() {
        for seed in Self.seeds {
            let actions = ChaosSchedule(seed: seed, seconds: 30).events.map(\.action)
            #expect(actions.contains(.stopBroker) && actions.contains(.killMaster) && actions.contains(.closeSlot))
        }
    }

    @Test("One server of Redis has no replica and no slots")
    func single() {
        for seed in Self.seeds {
            let actions = ChaosSchedule(seed: seed, seconds: 300, redis: .single).events.map(\.action)
            #expect(actions.contains(.stopBroker) && actions.contains(.stopRedis))
            #expect(!actions.contains(.killMaster) && !actions.contains(.closeSlot))
        }
    }

    @Test("A master that sentinels watch over is killed as those of a cluster are, and has no slots")
    func sentinel() {
        for seed in Self.seeds {
            let actions = ChaosSchedule(seed: seed, seconds: 30, redis: .sentinel).events.map(\.action)
            #expect(actions.contains(.stopBroker) && actions.contains(.killMaster) && actions.contains(.reviveMaster))
            #expect(!actions.contains(.closeSlot))
        }
        #expect(ChaosOptions.Redis.standard(with: .http2) == .sentinel)
        #expect(ChaosOptions.Redis.standard(with: .binary) == .cluster)
    }

    private static let menus = [FaultMenu.usual, FaultMenu.usual + FaultMenu.withholding, FaultMenu.http2]

    @Test("The sandbox takes every fault of the menus, and none stands twice in a menu", arguments: menus)
    func menu(_ menu: [ChaosFault]) throws {
        #expect(Set(menu).count == menu.count)
        for fault in menu {
            guard case .arm(let armed, _) = try FaultsRequest(body: Array(fault.body.utf8)).change else {
                Issue.record("\(fault) switches nothing on")
                continue
            }
            #expect(armed.name.rawValue == fault.name)
        }
    }

    @Test("Every fault of the sandbox is in a menu, but the one that needs requests that are wrong by themselves")
    func complete() {
        let names = Set((FaultMenu.usual + FaultMenu.withholding + FaultMenu.http2).map(\.name))
        #expect(Set(Fault.Name.allCases.map(\.rawValue)).subtracting(names) == [Fault.Name.streamCollapse.rawValue])
    }

    @Test("Over HTTP/2 no fault keeps the service from reading for as long as a request may take")
    func reading() {
        for fault in FaultMenu.http2 {
            #expect(fault.name != Fault.Name.slowReader.rawValue, "\(fault)")
            guard case .arm(let armed, _) = try? FaultsRequest(body: Array(fault.body.utf8)).change else { continue }
            switch armed.behaviour {
            case .stallAfter(_, let milliseconds?), .roundTrip(let milliseconds):
                #expect(milliseconds < Int64(FaultMenu.requestTimeoutSeconds) * 1000 / 2, "\(fault)")
            case .stallAfter(_, nil): Issue.record("\(fault) has no end")
            default: break
            }
        }
    }

    @Test("The transport chooses the menu, and only silence can be taken for acceptance wrongly")
    func options() {
        var options = ChaosOptions(executable: "belfry")
        #expect(options.transport == .binary && options.menu == FaultMenu.usual && !options.mayPresumeWrongly)
        (options.isWithholding, options.isBusy) = (true, true)
        #expect(options.menu == FaultMenu.usual + FaultMenu.withholding && options.mayPresumeWrongly)
        options.transport = .http2
        #expect(options.menu == FaultMenu.http2 && !options.mayPresumeWrongly)
    }

    @Test("Five minutes have everything: each fault, both servers, kills, one worker and four", arguments: menus)
    func everything(_ menu: [ChaosFault]) {
        for seed in Self.seeds {
            let actions = ChaosSchedule(seed: seed, seconds: 300, menu: menu).events.map(\.action)
            let faults = Set(actions.compactMap { if case .setFault(let fault) = $0 { fault } else { nil } })
            #expect(faults == Set(menu))
            #expect(actions.contains(.stopBroker) && actions.contains(.stopRedis) && actions.contains(.thaw))
            #expect(actions.contains(.killMaster) && actions.contains(.closeSlot))
            for role in ChaosRole.allCases {
                #expect(actions.contains { if case .kill(role, _) = $0 { true } else { false } })
                #expect(actions.contains { if case .stop(role, _) = $0 { true } else { false } })
            }
            var running = ChaosSchedule.workersAtStart
            var counts: Set<Int> = [running]
            for action in actions {
                switch action {
                case .kill(.worker, _), .stop(.worker, _): running -= 1
                case .start(.worker): running += 1
                default: continue
                }
                counts.insert(running)
            }
            #expect(counts == Set(ChaosSchedule.workers))
        }
    }
}

extension ChaosAction {
    fileprivate var isCut: Bool {
        if case .cutReplica = self { true } else { false }
    }

    /// The step ends this outage.
    fileprivate func isEnded(by step: ChaosAction) -> Bool {
        switch (self, step) {
        case (.stopBroker, .startBroker), (.stopRedis, .startRedis), (.cutReplica, .reviveMaster): true
        default: false
        }
    }
}
