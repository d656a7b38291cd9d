import APNsProtocol
import Testing

@testable import Sandbox

/// Quality of service inside the push service [13].
struct DeviceLedgerTests {
    private let fixture = TopicFixture()
    private let now = TopicFixture.now

    @Test("A notification for an app that is there is delivered, whether it may be stored or not")
    func online() {
        #expect(fixture.accept(device: 1, expiration: 0))
        #expect(fixture.accept(device: 1, expiration: now + 1))
        #expect(fixture.ledger.counters.accepted == 2)
        #expect(fixture.ledger.counters.delivered == 2)
    }

    @Test("One past its expiration is accepted and discarded")
    func expiredOnArrival() {
        #expect(fixture.accept(device: 1, expiration: now))
        #expect(fixture.accept(device: 1, expiration: 1))
        #expect(fixture.ledger.counters.expired == 2)
        #expect(fixture.ledger.counters.delivered == 0)
    }

    @Test("A notification for a missing app is accepted, not delivered, and its token and time enter the feedback list")
    func uninstalled() {
        fixture.ledger.set(5, .uninstalled, now: now)
        #expect(fixture.accept(device: 5, expiration: 0))
        #expect(fixture.accept(device: 5, now: now + 9))
        #expect(fixture.ledger.counters.accepted == 2)
        #expect(fixture.ledger.counters.delivered == 0)
        #expect(fixture.ledger.counters.feedback == 2)
        let expected = FeedbackList.Entry(instance: AppInstance(device: 5), timestamp: now + 9)
        #expect(fixture.takeFeedback() == [expected])
    }

    @Test("Notifications that expired undelivered never reach the feedback list [13]")
    func expiredIsNotFeedback() {
        fixture.ledger.set(5, .uninstalled, now: now)
        #expect(fixture.accept(device: 5, expiration: now))
        fixture.ledger.set(6, .offline, now: now)
        #expect(fixture.accept(device: 6, expiration: now + 10))
        fixture.ledger.set(6, .uninstalled, now: now + 10)
        #expect(fixture.takeFeedback() == [])
        #expect(fixture.ledger.counters.expired == 2)
    }

    @Test("An app that is installed again is reached under the same token")
    func reinstalled() {
        fixture.ledger.set(5, .uninstalled, now: now)
        #expect(fixture.accept(device: 5))
        fixture.ledger.set(5, .online, now: now)
        #expect(fixture.accept(device: 5))
        #expect(fixture.ledger.counters.delivered == 1)
        #expect(fixture.ledger.feedback.count == 1, "what was found stays listed: the provider compares times [10]")
    }

    @Test("For an offline device it is stored and delivered when the device returns")
    func storeAndForward() {
        fixture.ledger.set(5, .offline, now: now)
        #expect(fixture.accept(device: 5))
        #expect(fixture.ledger.counters.stored == 1)
        #expect(fixture.ledger.counters.delivered == 0)
        fixture.ledger.set(5, .online, now: now + 1)
        fixture.ledger.set(5, .online, now: now + 1)
        #expect(fixture.ledger.counters.stored == 0)
        #expect(fixture.ledger.counters.delivered == 1)
    }

    @Test("Only one is stored per app and device: a newer one replaces it")
    func coalescing() {
        fixture.ledger.set(5, .offline, now: now)
        fixture.ledger.set(6, .offline, now: now)
        for n in 0..<3 { #expect(fixture.accept(device: 5, n: n)) }
        #expect(fixture.accept(device: 6))
        #expect(fixture.ledger.counters.stored == 2)
        #expect(fixture.ledger.counters.coalesced == 2)
    }

    @Test("Expiration 0 is never stored")
    func neverStored() {
        fixture.ledger.set(5, .offline, now: now)
        #expect(fixture.accept(device: 5, expiration: 0))
        #expect(fixture.ledger.counters.stored == 0)
        #expect(fixture.ledger.counters.expired == 1)
    }

    @Test("A stored notification past its expiration when the device returns is discarded")
    func expiredInStore() {
        fixture.ledger.set(5, .offline, now: now)
        #expect(fixture.accept(device: 5, expiration: now + 10))
        fixture.ledger.set(5, .online, now: now + 10)
        #expect(fixture.ledger.counters.expired == 1)
        #expect(fixture.ledger.counters.delivered == 0)
    }

    @Test("Nothing is stored for longer than 30 days, whatever its expiration")
    func storageLimit() {
        let month: UInt32 = 30 * 24 * 3600
        for (device, returns) in [(5, now + month - 1), (6, now + month)] as [(UInt32, UInt32)] {
            fixture.ledger.set(Int(device), .offline, now: now)
            #expect(fixture.accept(device: device, expiration: .max))
            fixture.ledger.set(Int(device), .online, now: returns)
        }
        #expect(fixture.ledger.counters.delivered == 1)
        #expect(fixture.ledger.counters.expired == 1)
    }

    @Test("A stored one whose app is gone when the device returns is feedback")
    func storedForMissingApp() {
        fixture.ledger.set(5, .offline, now: now)
        #expect(fixture.accept(device: 5))
        fixture.ledger.set(5, .uninstalled, now: now + 3)
        #expect(fixture.ledger.counters.stored == 0)
        let expected = FeedbackList.Entry(instance: AppInstance(device: 5), timestamp: now + 3)
        #expect(fixture.takeFeedback() == [expected])
    }

    @Test("The same token and mark are accepted twice and distinct once")
    func distinct() {
        for n in [1, 2, 1] { #expect(fixture.accept(device: 5, n: n)) }
        #expect(fixture.accept(device: 6, n: 1))
        #expect(fixture.ledger.counters.accepted == 4)
        #expect(fixture.ledger.memory.count == 3)
    }

    @Test("Statistics say so when `distinct` could not count everything, and only then")
    func distinctIncomplete() {
        var settings = DeviceLedger.Settings()
        settings.rememberedPairs = 2
        fixture.ledger = DeviceLedger(devices: 100, settings: settings)
        for n in [1, 2, 1] { #expect(fixture.accept(device: 5, n: n)) }
        #expect(StatsDocument.Topic(fixture.ledger).distinctIncomplete == nil)
        #expect(fixture.accept(device: 5, n: 3))
        #expect(StatsDocument.Topic(fixture.ledger).distinctIncomplete == true)
        #expect(StatsDocument.Topic(fixture.ledger).distinct == 2)
        #expect(StatsDocument.Topic(fixture.ledger).accepted == 4)
    }
}
