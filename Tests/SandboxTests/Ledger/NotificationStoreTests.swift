import APNsProtocol
import TestSupport
import Testing

@testable import Sandbox

/// The bounded store of waiting notifications.
struct NotificationStoreTests {
    private static let now: UInt32 = 1000

    private static func item(_ device: UInt32, until: UInt32 = .max, isHeld: Bool = false) -> NotificationStore.Item {
        NotificationStore.Item(
            instance: AppInstance(device: device, generation: 3),
            expiration: until,
            until: until,
            priority: isHeld ? .powerSaving : .immediate,
            isHeld: isHeld,
            isValid: device.isMultiple(of: 2)
        )
    }

    private static func put(
        _ store: inout NotificationStore,
        _ item: NotificationStore.Item,
        bytes: Int,
        now: UInt32 = now
    ) -> NotificationStore.Outcome {
        let payload = [UInt8](repeating: UInt8(truncatingIfNeeded: item.instance.device), count: bytes)
        return payload.withUnsafeBytes { store.put(item, payload: $0, now: now) }
    }

    @Test("What is put in comes out as it was, up to the longest payload", arguments: [0, 1, 16, 2048, 65_535])
    func roundTrip(bytes: Int) {
        var store = NotificationStore(devices: 10, limitBytes: 1 << 20)
        let item = Self.item(9, until: 4_000_000_000, isHeld: true)
        #expect(Self.put(&store, item, bytes: bytes) == NotificationStore.Outcome())
        #expect(store.item(for: 9) == item)
        #expect(store.payload(for: 9) == [UInt8](repeating: 9, count: bytes))
        store.clearHeld(9)
        #expect(store.item(for: 9)?.isHeld == false)
        #expect(store.payload(for: 9).count == bytes)
        let removed = store.remove(9)
        #expect(removed?.until == 4_000_000_000)
        #expect(store.isEmpty)
        #expect(store.item(for: 9) == nil)
        #expect(store.remove(9) == nil)
    }

    @Test("Push type, priority and collapse id come out as they went in", arguments: PushType.allCases)
    func labels(pushType: PushType) {
        var store = NotificationStore(devices: 10, limitBytes: 1 << 16)
        for (priority, idBytes) in zip(ProviderPriority.allCases, [0, 1, 64]) {
            var item = NotificationStore.Item(
                instance: AppInstance(device: 3),
                expiration: 9,
                until: 8,
                priority: priority,
                isHeld: true,
                isValid: true,
                pushType: pushType
            )
            let (payload, id) = (Array("{}".utf8), [UInt8](repeating: 7, count: idBytes))
            _ = payload.withUnsafeBytes { payload in
                id.withUnsafeBytes { store.put(item, payload: payload, collapseID: $0, now: 0) }
            }
            #expect(store.item(for: 3) == item && store.payload(for: 3) == payload && store.collapseID(for: 3) == id)
            store.clearHeld(3)
            item.isHeld = false
            #expect(store.item(for: 3) == item && store.payload(for: 3) == payload && store.collapseID(for: 3) == id)
            store.remove(3)
        }
    }

    @Test("When nothing can be forgotten the oldest is evicted")
    func oldestFirst() {
        // Four units a piece.
        var store = NotificationStore(devices: 100, limitBytes: 64 * 10)
        for device in 0..<10 as Range<UInt32> {
            #expect(Self.put(&store, Self.item(device), bytes: 48).evicted == 0)
        }
        for device in 10..<30 as Range<UInt32> {
            #expect(Self.put(&store, Self.item(device), bytes: 48).evicted == 1)
            #expect(store.item(for: device - 10) == nil)
            #expect(store.item(for: device - 9) != nil)
            #expect(store.count == 10)
        }
    }

    @Test("Notifications that wait long are not pushed out by those that wait briefly")
    func longWaiting() {
        var store = NotificationStore(devices: 100, limitBytes: 64 * 20)
        for device in 0..<10 as Range<UInt32> { _ = Self.put(&store, Self.item(device), bytes: 48) }
        for _ in 0..<1000 {
            #expect(Self.put(&store, Self.item(50), bytes: 40) == NotificationStore.Outcome())
            store.remove(50)
        }
        #expect(store.count == 10)
        for device in 0..<10 as Range<UInt32> {
            #expect(store.payload(for: device) == [UInt8](repeating: UInt8(device), count: 48))
        }
    }

    @Test("What is out of date makes room first and is counted apart")
    func outOfDate() {
        var store = NotificationStore(devices: 100, limitBytes: 64 * 4)
        for device in 0..<4 as Range<UInt32> {
            _ = Self.put(&store, Self.item(device, until: Self.now + 1, isHeld: device == 0), bytes: 48)
        }
        let outcome = Self.put(&store, Self.item(9), bytes: 48, now: Self.now + 1)
        #expect(outcome == NotificationStore.Outcome(evicted: 0, expired: 1, held: 1))
    }

    @Test("One that is larger than the whole store is evicted at once")
    func tooLarge() {
        var store = NotificationStore(devices: 10, limitBytes: 64)
        _ = Self.put(&store, Self.item(1), bytes: 16)
        #expect(Self.put(&store, Self.item(2, isHeld: true), bytes: 49).evicted == 1)
        #expect(store.item(for: 2) == nil)
        #expect(store.item(for: 1) != nil)
    }

    @Test(
        "After all steps it holds what a dictionary would, but for what it says is gone",
        arguments: 0..<30 as Range<UInt64>
    )
    func model(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let limit = [256, 1024, 16 * 304][Int(seed % 3)]
        var store = NotificationStore(devices: 64, limitBytes: limit)
        var model: [UInt32: (item: NotificationStore.Item, payload: [UInt8])] = [:]
        var now = Self.now
        for step in 0..<2000 {
            now += UInt32.random(in: 0...1, using: &random)
            let device = UInt32.random(in: 0..<64, using: &random)
            let removed = store.remove(device)
            #expect(removed == model.removeValue(forKey: device)?.item)
            guard step % 3 > 0 else { continue }
            let until = Bool.random(using: &random) ? UInt32.max : now + .random(in: 1...50, using: &random)
            let item = Self.item(device, until: until, isHeld: Bool.random(using: &random))
            let payload = (0..<Int.random(in: 0...288, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            let unitsBefore = model.values.reduce(0) { $0 + 1 + ($1.payload.count + 15) / 16 }
            let outcome = payload.withUnsafeBytes { store.put(item, payload: $0, now: now) }
            model[device] = (item, payload)
            let gone = model.filter { store.item(for: $0.key) == nil }
            for device in gone.keys { model[device] = nil }
            #expect(outcome.evicted == gone.values.count { $0.item.until > now })
            #expect(outcome.expired == gone.values.count { $0.item.until <= now })
            #expect(outcome.held == gone.values.count { $0.item.isHeld })
            #expect(store.count == model.count)
            for (device, expected) in model {
                #expect(store.item(for: device) == expected.item)
                #expect(store.payload(for: device) == expected.payload)
            }
            // As much as is promised; the largest record has 19 units.
            if (unitsBefore + 19) * 16 <= limit * 3 / 4, limit >= 16 * 304 { #expect(outcome.evicted == 0) }
        }
    }
}
