import APNsProtocol
import Testing

@testable import Sandbox

/// Calls to connected devices, and the notifications that each gets.
struct CourierOutboxTests {
    private func delivery(_ device: UInt32, _ byte: UInt8 = 0, bytes: Int = 1) -> CourierOutbox.Delivery {
        CourierOutbox.Delivery(
            instance: AppInstance(device: device),
            payload: [UInt8](repeating: byte, count: bytes),
            expiration: 0,
            priority: .immediate
        )
    }

    private func attached(_ devices: UInt32...) -> CourierOutbox {
        var outbox = CourierOutbox()
        for device in devices {
            let isIn = outbox.attach(device, connection: UInt64(device))
            #expect(isIn)
        }
        return outbox
    }

    @Test("It is empty until a device is connected, and again when the last one has gone")
    func emptiness() {
        var outbox = CourierOutbox()
        #expect(outbox.isEmpty)
        outbox = attached(1, 2)
        #expect(!outbox.isEmpty)
        #expect(outbox.hasDevice(2))
        #expect(!outbox.hasDevice(3))
        _ = outbox.detach(1, connection: 1)
        #expect(!outbox.isEmpty)
        _ = outbox.detach(2, connection: 2)
        #expect(outbox.isEmpty)
    }

    @Test("A device is called once for all that waits for it, and again only after it has fetched all")
    func calls() {
        var outbox = attached(1, 2)
        for _ in 0..<3 { outbox.append(delivery(2)) }
        outbox.append(delivery(1))
        let first = outbox.takeCalls()
        #expect(first == [2, 1])
        outbox.append(delivery(2))
        let second = outbox.takeCalls()
        #expect(second == [])
        let some = outbox.takeParcel(2, connection: 2, limit: 3)
        #expect(some.deliveries.count == 3)
        outbox.append(delivery(2))
        let third = outbox.takeCalls()
        #expect(third == [], "it has not fetched all")
        let rest = outbox.takeParcel(2, connection: 2, limit: 3)
        #expect(rest.deliveries.count == 2)
        outbox.append(delivery(2))
        let fourth = outbox.takeCalls()
        #expect(fourth == [2])
    }

    @Test("Notifications are taken in their order, by their connection alone")
    func order() {
        var outbox = attached(1)
        for byte in 0..<10 as Range<UInt8> { outbox.append(delivery(1, byte)) }
        let stranger = outbox.takeParcel(1, connection: 7, limit: 10)
        #expect(stranger == CourierOutbox.Parcel())
        let first = outbox.takeParcel(1, connection: 1, limit: 4).deliveries.map { $0.payload[0] }
        let second = outbox.takeParcel(1, connection: 1, limit: 100).deliveries.map { $0.payload[0] }
        #expect(first + second == Array(0..<10))
    }

    @Test("A connection that takes over is called for what its predecessor left")
    func takeover() {
        var outbox = attached(1)
        outbox.append(delivery(1))
        _ = outbox.takeCalls()
        let isIn = outbox.attach(1, connection: 5)
        #expect(isIn)
        let calls = outbox.takeCalls()
        #expect(calls == [1])
        let old = outbox.detach(1, connection: 1)
        #expect(old == nil)
        let isBack = outbox.attach(1, connection: 1)
        #expect(!isBack)
    }

    @Test("What waits for one device is bounded; the oldest go, counted, and the connection is found overrun")
    func bounded() {
        var outbox = attached(1, 2)
        let limit = SandboxLimits.courierPendingBytes
        outbox.append(delivery(1, 1, bytes: limit / 2))
        outbox.append(delivery(1, 2, bytes: limit / 4))
        #expect(outbox.dropped == 0)
        outbox.append(delivery(1, 3, bytes: limit / 2))
        #expect(outbox.dropped == 1)
        outbox.append(delivery(2))
        let slow = outbox.takeParcel(1, connection: 1, limit: 10)
        #expect(slow == CourierOutbox.Parcel(isOverrun: true))
        let other = outbox.takeParcel(2, connection: 2, limit: 10)
        #expect(other.deliveries.count == 1, "another device is not concerned")
        let left = outbox.detach(1, connection: 1)
        #expect(left?.map { $0.payload[0] } == [2, 3])
    }
}
