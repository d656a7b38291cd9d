import APNsProtocol
import Testing

@testable import Sandbox

/// The bounded memory of the notifications that were accepted last.
struct RecentNotificationTests {
    private static func note(
        _ recent: inout RecentNotifications,
        _ device: UInt32,
        _ payload: [UInt8],
        collapseID: [UInt8] = [],
        pushType: PushType? = nil,
        now: UInt32 = 1000
    ) {
        payload.withUnsafeBytes { payload in
            collapseID.withUnsafeBytes { collapseID in
                let notification = RoutedNotification(
                    expiration: 2000,
                    priority: .powerSaving,
                    payload: payload,
                    pushType: pushType,
                    collapseID: collapseID
                )
                recent.note(notification, for: AppInstance(device: device), isValid: false, now: now)
            }
        }
    }

    @Test("The last notification of a device comes out as it was", arguments: [0, 1, 16, 5120])
    func roundTrip(bytes: Int) {
        var recent = RecentNotifications(limitBytes: 1 << 16)
        #expect(recent.last(of: 3) == RecentNotifications.Answer())
        let (payload, id) = ([UInt8](repeating: 7, count: bytes), [UInt8](repeating: 8, count: 64))
        Self.note(&recent, 3, [1])
        Self.note(&recent, 3, payload, collapseID: id, pushType: .voip, now: 1001)
        Self.note(&recent, 4, [2], now: 1002)
        let item = NotificationStore.Item(
            instance: AppInstance(device: 3),
            expiration: 2000,
            until: 1001,
            priority: .powerSaving,
            isHeld: false,
            isValid: false,
            pushType: .voip
        )
        #expect(recent.last(of: 3) == RecentNotifications.Answer(item: item, payload: payload, collapseID: id))
        #expect(recent.last(of: 4).payload == [2] && recent.last(of: 5).item == nil)
    }

    @Test("The oldest make room, whatever their lengths, and a device of which none is left is not called untouched")
    func rounds() {
        var recent = RecentNotifications(limitBytes: 4096)
        var last: [UInt32: [UInt8]] = [:]
        for number in 0..<3000 {
            let device = UInt32(number * 7919 % 23)
            let payload = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: number * 31 % 400)
            Self.note(&recent, device, payload)
            last[device] = payload
            #expect(recent.last(of: device).payload == payload)
            let other = UInt32(number % 23)
            let answer = recent.last(of: other)
            #expect(answer.item == nil ? number < 23 || !answer.isLast : answer.payload == last[other] && answer.isLast)
        }
    }

    @Test("Of a second so many are kept; for those who got one in it, it is not sure to be the last")
    func pace() {
        var recent = RecentNotifications(limitBytes: 4 << 20)
        Self.note(&recent, 0, [0], now: 999)
        for number in 0...RecentNotifications.perSecond { Self.note(&recent, UInt32(number), [1]) }
        #expect(recent.last(of: 0).payload == [1] && !recent.last(of: 0).isLast)
        let passedOver = UInt32(RecentNotifications.perSecond)
        #expect(recent.last(of: passedOver) == RecentNotifications.Answer(isLast: false))
        Self.note(&recent, 0, [2], now: 1001)
        #expect(recent.last(of: 0).payload == [2] && recent.last(of: 0).isLast)
    }

    @Test("One that is larger than the memory is not kept, and that is known")
    func tooLarge() {
        var recent = RecentNotifications(limitBytes: 64)
        Self.note(&recent, 1, [1])
        Self.note(&recent, 1, [UInt8](repeating: 2, count: 65))
        #expect(recent.last(of: 1).payload == [1] && !recent.last(of: 1).isLast)
    }
}
