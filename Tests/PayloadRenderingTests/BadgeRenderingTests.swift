import PushSchemas
import Testing

@testable import PayloadRendering

@Suite("Badges of notifications in parts")
struct BadgeRenderingTests {
    private func template(_ fill: (inout PushNotification) -> Void) throws -> NotificationTemplate {
        try NotificationTemplate(PushNotification.with(fill))
    }

    private func own(_ badge: UInt32) -> TokenOverrides {
        var own = TokenOverrides()
        own.badge = badge
        return own
    }

    @Test("A change is a number, or a summand; to clear it is to set 0")
    func changes() throws {
        #expect(try template { $0.badge.set = 3 }.badge == .set(3))
        #expect(try template { $0.badge.add = -3 }.badge == .add(-3))
        #expect(try template { $0.badge.clear = true }.badge == .set(0))
        #expect(try template { $0.alert.body = "b" }.badge == nil)
    }

    @Test(
        "A change keeps the number between 0 and 4294967295",
        arguments: [
            (.set(7), 3, 7), (.set(0), 3, 0), (.add(0), 3, 3), (.add(2), 3, 5), (.add(-4), 3, 0),
            (.add(.min), .max, 2_147_483_647),
            (.add(1), .max, .max),
        ] as [(BadgeChange, UInt32, UInt32)]
    )
    func applied(change: BadgeChange, to number: UInt32, expected: UInt32) {
        #expect(change.applied(to: number) == expected)
    }

    @Test("Cleared is 0; the sum is the token's own number, and without it there is none")
    func payloads() throws {
        func payload(_ template: NotificationTemplate, _ own: TokenOverrides = TokenOverrides()) throws -> String {
            String(decoding: try template.payload(overrides: own, limitBytes: 256), as: UTF8.self)
        }
        let cleared = try template { $0.badge.clear = true }
        #expect(try payload(cleared) == #"{"aps":{"badge":0}}"#)
        let added = try template {
            $0.alert.body = "b"
            $0.badge.add = 1
        }
        #expect(try payload(added) == #"{"aps":{"alert":"b"}}"#)
        #expect(try payload(added, own(12)) == #"{"aps":{"alert":"b","badge":12}}"#)
    }

    @Test("A sum is no part of the size, until a token's number makes its payload too long, or shortens its body")
    func size() throws {
        func added(shorten: Bool) throws -> NotificationTemplate {
            try template {
                $0.alert.body = "abcdefghijklmnop"
                $0.badge.add = 1
                $0.shorten = shorten
            }
        }
        let bytes = try added(shorten: false).payload(limitBytes: .max).count
        #expect(try added(shorten: false).payload(limitBytes: bytes).count == bytes)
        #expect(throws: NotificationFault.self) {
            try added(shorten: false).payload(overrides: own(1), limitBytes: bytes)
        }
        let cut = try added(shorten: true).payload(overrides: own(1), limitBytes: bytes)
        #expect(cut.count == bytes)
        #expect(String(decoding: cut, as: UTF8.self).contains(#"…","badge":1"#))
    }

    @Test("A request with a sum is noticed; of one payload only a number that is there is")
    func priority() throws {
        let added = try template {
            $0.badge.add = 1
            $0.contentAvailable = true
        }
        try added.check(10, overridesBadge: false)
        #expect(added.fitted(10).priority == 5)
        #expect(added.fitted(10, overrides: own(0)) == .init(priority: 10))
        let cleared = try template { $0.badge.clear = true }
        #expect(cleared.fitted(10) == .init(priority: 10))
        // Devices of all other languages get the number.
        _ = try template {
            $0.localizations["de"] = PushAlert.with { $0.body = "Tor" }
            $0.badge.add = 1
        }
    }
}
