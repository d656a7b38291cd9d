import APNsProtocol
import Testing

@testable import Sandbox

/// Virtual devices that come and go by themselves.
struct PopulationTests {
    private static let rates: ChurnRates = {
        var rates = ChurnRates()
        rates.offline = 20
        rates.online = 40
        rates.uninstalled = 3
        rates.reinstalled = 5
        rates.removed = 1
        return rates
    }()

    private func ledger(devices: Int = 10_000, seed: UInt64, rates: ChurnRates = rates) -> DeviceLedger {
        var settings = DeviceLedger.Settings()
        settings.seed = seed
        settings.churn = rates
        settings.initial.offline = 0.25
        settings.initial.uninstalled = 0.1
        return DeviceLedger(devices: devices, settings: settings)
    }

    private func age(_ ledger: inout DeviceLedger, seconds: Int, slice: Int = .max) {
        for _ in 0..<seconds {
            ledger.tickChurn()
            while !ledger.churnDevices(atMost: slice, now: TopicFixture.now) {}
        }
    }

    @Test("The same seed and the same ticks make the same population, another seed another one")
    func reproducible() {
        var fingerprints: [UInt64] = []
        for (seed, slice) in [(1, Int.max), (1, 7), (2, Int.max)] as [(UInt64, Int)] {
            var ledger = ledger(seed: seed)
            fingerprints.append(ledger.population.fingerprint)
            age(&ledger, seconds: 300, slice: slice)
            fingerprints.append(ledger.population.fingerprint)
        }
        #expect(fingerprints[0] == fingerprints[2])
        #expect(fingerprints[1] == fingerprints[3])
        #expect(fingerprints[0] != fingerprints[4])
        #expect(fingerprints[1] != fingerprints[5])
        #expect(fingerprints[0] != fingerprints[1])
    }

    @Test("What is picked does not depend on what else happens to the devices")
    func independent() {
        var (one, other) = (PopulationChurn(devices: 100, rates: Self.rates, seed: 5), ledger(devices: 100, seed: ~5))
        var picks: [PopulationChurn.Pick] = []
        for _ in 0..<1000 {
            one.tick()
            while let pick = one.next() { picks.append(pick) }
        }
        for device in 0..<100 { other.set(device, .offline, now: 0) }
        age(&other, seconds: 1000)
        var expected = ledger(devices: 100, seed: ~5)
        for device in 0..<100 { expected.set(device, .offline, now: 0) }
        for pick in picks {
            let state = expected.population.state(pick.device)
            if pick.from.map({ $0 == state }) ?? (state != .removed) { expected.set(pick.device, pick.to, now: 0) }
        }
        #expect(other.population.fingerprint == expected.population.fingerprint)
    }

    @Test("A population begins with the shares that are set")
    func shares() {
        let counts = ledger(devices: 100_000, seed: 1).population.counts
        #expect((24_000...26_000).contains(counts.offline))
        #expect((9_500...10_500).contains(counts.uninstalled))
        #expect(counts.removed == 0)
        #expect(counts.online + counts.offline + counts.uninstalled == 100_000)
        var settings = DeviceLedger.Settings()
        settings.initial.offline = 1
        #expect(DeviceLedger(devices: 1000, settings: settings).population.counts.offline == 1000)
    }

    @Test("In a second as many devices are asked as the rate says, fractions carried over")
    func fractions() {
        var rates = ChurnRates()
        rates.offline = 0.9
        // 0.25 devices a second.
        var churn = PopulationChurn(devices: 1000, rates: rates, seed: 1)
        var picks: [Int] = []
        for _ in 0..<8 {
            churn.tick()
            var count = 0
            while let pick = churn.next() {
                #expect(pick.from == .online && pick.to == .offline && (0..<1000).contains(pick.device))
                count += 1
            }
            picks.append(count)
        }
        #expect(picks == [0, 0, 0, 1, 0, 0, 0, 1])
    }

    @Test("Rates lead to the balance they imply")
    func balance() {
        var rates = ChurnRates()
        rates.offline = 60
        rates.online = 180
        var ledger = ledger(devices: 20_000, seed: 9, rates: rates)
        age(&ledger, seconds: 600)
        let counts = ledger.population.counts
        let share = Double(counts.offline) / Double(counts.online + counts.offline)
        #expect((0.23...0.26).contains(share))
    }

    @Test("Removed devices stay removed, and without rates nothing changes")
    func removedForGood() {
        var rates = ChurnRates()
        rates.removed = 3600
        rates.online = 3600
        var ledger = ledger(devices: 1000, seed: 9, rates: rates)
        age(&ledger, seconds: 20)
        #expect(ledger.population.counts.removed == 1000)
        ledger.churnRates = ChurnRates()
        let before = ledger.population.fingerprint
        age(&ledger, seconds: 10)
        #expect(ledger.population.fingerprint == before)
    }

    @Test("Churn delivers what is stored, as any return of a device does")
    func churnDelivers() {
        let fixture = TopicFixture()
        for device in 0..<100 { fixture.ledger.set(device, .offline, now: TopicFixture.now) }
        for device in 0..<100 as Range<UInt32> { #expect(fixture.accept(device: device)) }
        var rates = ChurnRates()
        rates.online = 3600
        fixture.ledger.churnRates = rates
        age(&fixture.ledger, seconds: 20)
        #expect(fixture.ledger.counters.delivered == 100)
    }

    @Test("After 64 tokens of an app the first is valid again, and never another device's")
    func generations() {
        var population = DevicePopulation(count: 3)
        for generation in 1...64 as ClosedRange<UInt8> {
            population.renew(1)
            #expect(population.instance(1) == AppInstance(device: 1, generation: generation % 64))
        }
        #expect(population.instance(0).generation == 0)
        #expect(population.instance(2).generation == 0)
    }

    @Test("Settings are read as they are written")
    func settings() throws {
        let rates = try ChurnRates(parsing: "offline=0.5,online=2,uninstalled=0.01,reinstalled=1e-3,removed=0")
        #expect(rates.offline == 0.5)
        #expect(rates.online == 2)
        #expect(rates.uninstalled == 0.01)
        #expect(rates.reinstalled == 0.001)
        #expect(rates.removed == 0)
        let shares = try PopulationShares(parsing: "uninstalled=0.01,offline=0.1")
        #expect(shares.offline == 0.1)
        #expect(shares.uninstalled == 0.01)
    }

    @Test(
        "A wrong setting is named",
        arguments: [
            ("", "churn"), ("gone=1", "churn"), ("offline", "churn: offline"), ("offline=", "churn: offline"),
            ("offline=x", "churn: offline"), ("offline=-1", "churn: offline"), ("online=3601", "churn: online"),
            ("online=nan", "churn: online"), ("online=inf", "churn: online"), ("online=1,online=1", "churn: online"),
            ("online=1,", "churn"),
        ]
    )
    func wrongRates(text: String, subject: String) {
        let error = #expect(throws: SandboxSetupError.self) { try ChurnRates(parsing: text) }
        #expect(error?.subject == subject)
    }

    @Test(
        "A wrong share is named",
        arguments: [
            ("offline=1.1", "initial: offline"), ("online=1", "initial"), ("offline=0.6,uninstalled=0.5", "initial"),
        ]
    )
    func wrongShares(text: String, subject: String) {
        let error = #expect(throws: SandboxSetupError.self) { try PopulationShares(parsing: text) }
        #expect(error?.subject == subject)
    }
}
