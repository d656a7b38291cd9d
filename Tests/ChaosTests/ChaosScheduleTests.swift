import Sandbox
import Testing

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

    @Test("the same seed and duration make the same schedule, another seed another one")
    func seeded() {
        #expect(ChaosSchedule(seed: 7, seconds: 60) == ChaosSchedule(seed: 7, seconds: 60))
        #expect(ChaosSchedule(seed: 7, seconds: 60) != ChaosSchedule(seed: 8, seconds: 60))
    }

    @Test("events come in order of time and leave calm at the end")
    func times() {
        each { schedule, seconds in
            let times = schedule.events.map(\.milliseconds)
            #expect(times == times.sorted())
            #expect(times.first ?? 0 >= 0)
            #expect(times.last ?? 0 <= seconds * 1000 - ChaosSchedule.calmMilliseconds)
        }
    }

    @Test("one server is away at a time, for ten seconds at most, and is back at the end")
    func outages() {
        each { schedule, _ in
            var away: (action: ChaosSchedule.Action, since: Int)?
            for event in schedule.events {
                switch event.action {
                case .stopBroker, .stopRedis:
                    #expect(away == nil)
                    away = (event.action, event.milliseconds)
                case .startBroker, .startRedis:
                    #expect(away?.action == (event.action == .startBroker ? .stopBroker : .stopRedis))
                    #expect(event.milliseconds - (away?.since ?? 0) <= ChaosSchedule.outageLimitMilliseconds)
                    away = nil
                default: break
                }
            }
            #expect(away == nil)
        }
    }

    @Test("a worker runs at any time, never more than four, and three at the end")
    func workers() {
        each { schedule, _ in
            var running = ChaosSchedule.workersAtStart
            for event in schedule.events {
                switch event.action {
                case .killWorker, .stopWorker: running -= 1
                case .startWorker: running += 1
                default: continue
                }
                #expect(ChaosSchedule.workers.contains(running))
            }
            #expect(running == ChaosSchedule.workersAtStart)
        }
    }

    @Test("one fault is on at a time, and none at the end")
    func faults() {
        each { schedule, _ in
            var isOn = false
            for event in schedule.events {
                switch event.action {
                case .setFault:
                    #expect(!isOn)
                    isOn = true
                case .clearFaults: isOn = false
                default: break
                }
            }
            #expect(!isOn)
        }
    }

    @Test("a fault has one name and one set of parameters in the menus, and no name that the sandbox does not know")
    func menus() {
        let all = FaultMenu.usual + FaultMenu.withholding
        #expect(Set(all).count == all.count)
        #expect(Set(all.map(\.name)) == Set(Fault.Name.allCases.map(\.rawValue)))
    }

    @Test("five minutes have everything: each fault, both servers, kills, one worker and four")
    func complete() {
        for seed in Self.seeds {
            let menu = FaultMenu.usual + (seed.isMultiple(of: 2) ? FaultMenu.withholding : [])
            let actions = ChaosSchedule(seed: seed, seconds: 300, menu: menu).events.map(\.action)
            let faults = Set(actions.compactMap { if case .setFault(let fault) = $0 { fault } else { nil } })
            #expect(faults == Set(menu))
            #expect(actions.contains(.stopBroker) && actions.contains(.stopRedis))
            #expect(actions.contains { if case .killWorker = $0 { true } else { false } })
            var running = ChaosSchedule.workersAtStart
            var counts: Set<Int> = [running]
            for action in actions {
                switch action {
                case .killWorker, .stopWorker: running -= 1
                case .startWorker: running += 1
                default: continue
                }
                counts.insert(running)
            }
            #expect(counts == Set(ChaosSchedule.workers))
        }
    }
}
