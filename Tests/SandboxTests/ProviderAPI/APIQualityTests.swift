import APNsProtocol
import Testing

@testable import Sandbox

/// The quality of service of the provider API: the same devices, store, books and courier as the binary gateway.
struct APIQualityTests {
    private let fixture: APIFixture
    private let client: APIClient

    init() throws {
        fixture = try APIFixture()
        client = fixture.connect(APIFixture.certificate())
    }

    private func send(_ n: Int, _ changes: [String: String?] = [:]) throws -> Int? {
        try client.reply(fixture.request(n: n).with(changes))?.status
    }

    private func set(_ reachability: DevicePopulation.Reachability, now: UInt32 = APIFixture.now) {
        fixture.topic().withLedger { $0.set(1, reachability, now: now) }
    }

    private var counters: SandboxTopicCounters { fixture.topic().withLedger { $0.counters } }

    /// Lets device 1 connect to the courier; its app is online then.
    private func attach(now: UInt32 = APIFixture.now) {
        fixture.topic().withLedger { _ = $0.install(1, connection: 1, now: now) }
    }

    private func fetch() -> [CourierOutbox.Delivery] {
        fixture.topic().withLedger { $0.outbox.takeParcel(1, connection: 1, limit: 100).deliveries }
    }

    @Test("A notification replaces the stored one, with or without its collapse id, and arrives with its labels")
    func collapse() throws {
        set(.offline)
        #expect(try send(1, ["apns-collapse-id": "game"]) == 200)
        #expect(try send(2, ["apns-collapse-id": "game", "apns-push-type": "alert"]) == 200)
        #expect(counters.coalesced == 1 && counters.stored == 1)
        attach()
        let delivery = try #require(fetch().first)
        #expect(delivery.payload == Frame.payload(n: 2) && delivery.collapseID == Array("game".utf8))
        #expect(delivery.pushType == .alert && delivery.priority == .immediate && delivery.expiration == .max)
        #expect(fetch().isEmpty && fixture.accepted(1) == [1, 2])

        #expect(try send(3, ["apns-expiration": "0"]) == 200)
        let direct = try #require(fetch().first)
        #expect(direct.collapseID.isEmpty && direct.pushType == .alert && direct.expiration == 0)
    }

    @Test("Both interfaces share devices, store and books")
    func sharedDevices() throws {
        let topic = fixture.topic()
        let mint = fixture.service.mint(for: topic)
        func sendBinary(_ n: Int) -> GatewaySession.Action {
            var session = GatewaySession(limits: GatewayLimits())
            let token = mint.token(of: AppInstance(device: 1))
            return Frame.command2(identifier: 1, token: token, n: n).withUnsafeBytes { bytes in
                topic.withLedger { session.receive(bytes, mint: mint, ledger: &$0, now: APIFixture.now) }
            }
        }
        #expect(sendBinary(1) == .read)
        #expect(try send(2) == 200)
        set(.offline)
        #expect(try send(3) == 200)
        #expect(sendBinary(4) == .read)
        #expect(counters.coalesced == 1 && counters.accepted == 4 && counters.delivered == 2)
        attach()
        let delivery = try #require(fetch().first)
        #expect(delivery.payload == Frame.payload(n: 4) && delivery.pushType == nil)
        #expect(fixture.accepted(1) == [1, 2, 3, 4])
        set(.uninstalled)
        #expect(try send(5) == 410)
        #expect(sendBinary(6) == .read)
        #expect(counters.feedback == 1)
    }

    @Test(
        "Priorities 5 and 1 wait for a power-saving time, unless the notification may not be stored",
        arguments: [5, 1]
    )
    func powerSaving(priority: Int) throws {
        attach()
        let changes = ["apns-priority": "\(priority)", "apns-push-type": "mdm"]
        #expect(try send(1, changes) == 200)
        #expect(counters.held == 1 && fetch().isEmpty)
        fixture.topic().withLedger { _ = $0.releaseHeld(now: APIFixture.now) }
        let delivery = try #require(fetch().first)
        #expect(Int(delivery.priority.rawValue) == priority && delivery.pushType == .mdm)
        #expect(try send(2, changes.merging(["apns-expiration": "0"]) { _, new in new }) == 200)
        #expect(fetch().count == 1)
    }

    @Test("The expiration decides for how long a notification is stored; without one it is 30 days")
    func expiration() throws {
        let now = APIFixture.now
        set(.offline)
        #expect(try send(1, ["apns-expiration": "0"]) == 200)
        #expect(try send(2, ["apns-expiration": "\(now - 1)"]) == 200)
        #expect(counters.expired == 2 && counters.stored == 0)
        #expect(try send(3, ["apns-expiration": "9999999999999"]) == 200)
        #expect(try send(4) == 200)
        fixture.topic().withLedger { ledger in
            #expect(ledger.store.item(for: 1)?.until == now + SandboxLimits.storageSeconds)
        }
        #expect(try send(5, ["apns-expiration": "\(now + 9)"]) == 200)
        attach(now: now + 9)
        #expect(fetch().isEmpty && counters.expired == 3)
    }

    @Test("What a device could not parse is accepted all the same")
    func invalidJSON() throws {
        var call = fixture.request()
        call.body = Array("{,}".utf8)
        #expect(try client.reply(call)?.status == 200)
        #expect(counters.delivered == 1 && counters.invalidJSON == 1)
    }
}
