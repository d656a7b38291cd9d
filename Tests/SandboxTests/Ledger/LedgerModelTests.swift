import APNsProtocol
import TestSupport
import Testing

@testable import Sandbox

/// The books of a topic, held against a model that does everything in the most obvious way.
struct LedgerModelTests {
    private struct Model {
        struct Waiting {
            var until: UInt32
            var isHeld: Bool
            var isValid: Bool
        }

        struct Device {
            var state = DevicePopulation.Reachability.online
            var waiting: Waiting?
        }

        var devices: [Device]
        var counters = SandboxTopicCounters()

        mutating func accept(
            _ device: Int,
            _ expiration: UInt32,
            _ priority: NotificationPriority,
            _ isValid: Bool,
            _ now: UInt32
        ) {
            counters.accepted += 1
            if expiration != 0, expiration <= now {
                counters.expired += 1
                return
            }
            switch devices[device].state {
            case .online where priority == .powerSaving && expiration > 0:
                wait(device, expiration, isHeld: true, isValid, now)
            case .online:
                deliverWaiting(device, now)
                delivered(isValid)
            case .offline where expiration > 0:
                wait(device, expiration, isHeld: false, isValid, now)
            case .offline:
                counters.expired += 1
            case .uninstalled:
                counters.feedback += 1
            case .removed:
                Issue.record("a removed device was reached")
            }
        }

        mutating func set(_ device: Int, _ state: DevicePopulation.Reachability, _ now: UInt32) {
            guard devices[device].state != state else { return }
            devices[device].state = state
            switch state {
            case .online:
                deliverWaiting(device, now)
            case .offline:
                devices[device].waiting?.isHeld = false
            case .uninstalled:
                if let waiting = devices[device].waiting, waiting.until > now {
                    counters.feedback += 1
                    devices[device].waiting = nil
                } else {
                    drop(device)
                }
            case .removed:
                drop(device)
            }
        }

        mutating func renew(_ device: Int) {
            drop(device)
            devices[device].state = .online
        }

        mutating func release(_ now: UInt32) {
            for device in devices.indices where devices[device].waiting?.isHeld == true {
                deliverWaiting(device, now)
            }
        }

        /// With what is waiting now.
        var balance: SandboxTopicCounters {
            var balance = counters
            balance.stored = devices.count { $0.waiting != nil }
            balance.held = devices.count { $0.waiting?.isHeld == true }
            return balance
        }

        private mutating func delivered(_ isValid: Bool) {
            counters.delivered += 1
            counters.invalidJSON += isValid ? 0 : 1
        }

        private mutating func drop(_ device: Int) {
            counters.expired += devices[device].waiting == nil ? 0 : 1
            devices[device].waiting = nil
        }

        private mutating func deliverWaiting(_ device: Int, _ now: UInt32) {
            guard let waiting = devices[device].waiting else { return }
            if waiting.until <= now {
                drop(device)
            } else {
                delivered(waiting.isValid)
                devices[device].waiting = nil
            }
        }

        private mutating func wait(
            _ device: Int,
            _ expiration: UInt32,
            isHeld: Bool,
            _ isValid: Bool,
            _ now: UInt32
        ) {
            if let older = devices[device].waiting {
                if older.until > now { counters.coalesced += 1 } else { counters.expired += 1 }
            }
            let until = min(expiration, now + 30 * 24 * 3600)
            devices[device].waiting = Waiting(until: until, isHeld: isHeld, isValid: isValid)
        }
    }

    /// Every count of what was accepted ends up in exactly one fate.
    private static func isBalanced(_ counters: SandboxTopicCounters) -> Bool {
        counters.accepted == counters.delivered + counters.stored + counters.coalesced + counters.expired
            + counters.feedback + counters.evicted && counters.held <= counters.stored
    }

    private static func run(
        seed: UInt64,
        fixture: TopicFixture,
        devices: Int,
        _ check: (inout Model, DeviceLedger) -> Void
    ) {
        var random = SeededGenerator(seed: seed)
        var model = Model(devices: [Model.Device](repeating: Model.Device(), count: devices))
        var now = TopicFixture.now
        for step in 0..<3000 {
            now += .random(in: 0...2, using: &random)
            let device = Int.random(in: 0..<devices, using: &random)
            switch Int.random(in: 0..<20, using: &random) {
            case 0...3:
                let state = DevicePopulation.Reachability.allCases[Int.random(in: 0...3, using: &random)]
                fixture.ledger.set(device, state, now: now)
                model.set(device, state, now)
            case 4:
                fixture.ledger.renew(device, now: now)
                model.renew(device)
            case 5:
                fixture.ledger.releaseHeld(now: now)
                model.release(now)
            default:
                guard model.devices[device].state != .removed else { continue }
                let expiration = [0, now - 1, now, now + 1, now + 20, .max][Int.random(in: 0..<6, using: &random)]
                let priority: NotificationPriority = Bool.random(using: &random) ? .immediate : .powerSaving
                let isValid = Int.random(in: 0..<4, using: &random) > 0
                let filler = [UInt8](repeating: UInt8(ascii: " "), count: .random(in: 0...100, using: &random))
                let payload = Frame.payload(n: step) + filler + (isValid ? [] : [UInt8(ascii: "}")])
                #expect(
                    fixture.accept(
                        device: UInt32(device),
                        payload: payload,
                        expiration: expiration,
                        priority: priority,
                        now: now
                    )
                )
                model.accept(device, expiration, priority, isValid, now)
            }
            check(&model, fixture.ledger)
        }
    }

    @Test("Every accepted notification has exactly the fate that the model says", arguments: 0..<20 as Range<UInt64>)
    func fates(seed: UInt64) {
        Self.run(seed: seed, fixture: TopicFixture(), devices: 8) { model, ledger in
            #expect(ledger.counters == model.balance)
            #expect(Self.isBalanced(ledger.counters))
        }
    }

    @Test(
        "With a store that is too small the books balance too, and what had to go is counted",
        arguments: 0..<10 as Range<UInt64>
    )
    func evictions(seed: UInt64) {
        let fixture = TopicFixture()
        var settings = DeviceLedger.Settings()
        settings.storageBytes = 512
        fixture.ledger = DeviceLedger(devices: 20, settings: settings)
        Self.run(seed: seed, fixture: fixture, devices: 20) { _, ledger in
            #expect(Self.isBalanced(ledger.counters))
            #expect(ledger.counters.stored == ledger.store.count)
            let items = (0..<20).compactMap { ledger.store.item(for: $0) }
            #expect(ledger.counters.held == items.count(where: \.isHeld))
        }
        #expect(fixture.ledger.counters.evicted > 0)
    }

    @Test("The states of the devices are counted through all changes", arguments: 0..<5 as Range<UInt64>)
    func states(seed: UInt64) {
        Self.run(seed: seed, fixture: TopicFixture(), devices: 8) { model, ledger in
            for state in DevicePopulation.Reachability.allCases where state != .online {
                #expect(ledger.population.counts[state] == model.devices.count { $0.state == state })
            }
            #expect(ledger.population.counts.online == 92 + model.devices.count { $0.state == .online })
        }
    }
}
