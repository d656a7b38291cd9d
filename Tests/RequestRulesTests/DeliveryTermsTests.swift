import APNsProtocol
import Foundation
import PushSchemas
import Testing

@testable import RequestRules

@Suite("Terms of payloads")
struct DeliveryTermsTests {
    private static let alert = #"{"aps":{"alert":"Hi"}}"#
    private static let wakes = #"{"aps":{"content-available":1}}"#
    private static let activity = #"{"aps":{"event":"update","content-state":{}}}"#

    private func judge<R>(
        over transport: APNsTransport,
        _ fill: (inout PushSendRequest) -> Void,
        _ body: (JudgedRequest, SendRequestView) throws -> R
    ) throws -> R {
        let value: [UInt8] = try PushSendRequest.with {
            $0.payload = Data(Self.alert.utf8)
            $0.packedTokens = Data(repeating: 1, count: 32)
            fill(&$0)
        }.serializedBytes()
        return try value.withUnsafeBytes { value in
            let request = try SendRequestView(decoding: value, as: .protobuf)
            return try body(try JudgedRequest.judge(request, over: transport, .byPushType), request)
        }
    }

    /// The terms of a payload of a request.
    private func terms(
        of payload: String = Self.alert,
        over transport: APNsTransport = .http2,
        _ fill: (inout PushSendRequest) -> Void = { _ in }
    ) throws -> DeliveryTerms {
        try judge(over: transport, fill) { judged, request in
            try Array(payload.utf8).withUnsafeBytes { try judged.terms(priority: request.priority, of: $0) }
        }
    }

    private func refusal(
        of payload: String = Self.alert,
        over transport: APNsTransport = .http2,
        _ fill: (inout PushSendRequest) -> Void
    ) -> String? {
        do {
            _ = try terms(of: payload, over: transport, fill)
            return nil
        } catch let refusal as RecordRefusal {
            return "\(refusal.reason): \(refusal.detail)"
        } catch {
            return "\(error)"
        }
    }

    private static func http2(_ pushType: PushType, _ priority: ProviderPriority) -> DeliveryTerms {
        .http2(pushType: pushType, priority: priority, collapseID: [], isBroadcast: false)
    }

    // MARK: HTTP/2

    @Test("The push type is the one that the request names, whatever the payload, or inferred from the payload")
    func pushTypes() throws {
        #expect(try terms(of: Self.alert) == Self.http2(.alert, .immediate))
        #expect(try terms(of: Self.wakes) == Self.http2(.background, .powerSaving))
        #expect(try terms(of: Self.activity) == Self.http2(.liveactivity, .immediate))
        for payload in [Self.alert, Self.wakes, Self.activity] {
            for pushType in PushType.allCases {
                let expected = Self.http2(pushType, pushType.allowed(.immediate))
                #expect(try terms(of: payload) { $0.pushType = pushType.rawValue } == expected)
            }
        }
    }

    @Test("To an inferred push type the priority that is said is fitted; a named one refuses what it does not allow")
    func priorities() throws {
        for number in [1, 5, 10] as [UInt32] {
            let priority = try #require(ProviderPriority(rawValue: UInt8(number)))
            let inferred = try terms(of: Self.alert) { $0.priority = number }
            #expect(inferred == Self.http2(.alert, priority == .neverWaking ? .powerSaving : priority))
            #expect(try terms(of: Self.wakes) { $0.priority = number } == Self.http2(.background, .powerSaving))
            for pushType in PushType.allCases {
                let fill = { (request: inout PushSendRequest) in
                    request.pushType = pushType.rawValue
                    request.priority = number
                }
                guard !pushType.allows(priority) else {
                    #expect(try terms(fill) == Self.http2(pushType, priority))
                    continue
                }
                let words = "priority-invalid: 'priority' is \(number); allowed for the push type \(pushType): "
                #expect(refusal(fill) == words + (pushType == .background ? "5" : "10, 5"))
            }
        }
    }

    @Test("The collapse id of a request, and that it is for a channel, hold for each of its payloads")
    func ofTheRequest() throws {
        for (payload, pushType, priority) in [
            (Self.alert, .alert, .immediate), (Self.wakes, .background, .powerSaving),
        ] as [(String, PushType, ProviderPriority)] {
            let terms = try terms(of: payload) { $0.collapseID = "score" }
            let collapseID = Array("score".utf8)
            #expect(
                terms == .http2(pushType: pushType, priority: priority, collapseID: collapseID, isBroadcast: false)
            )
            #expect(!terms.isBroadcast)
        }
        let broadcast = try terms(of: Self.activity) {
            $0.packedTokens = Data()
            $0.channel = "dHN0LXNyY2gtY2hubA=="
            $0.expiration = 0
            $0.priority = 5
        }
        #expect(
            broadcast == .http2(pushType: .liveactivity, priority: .powerSaving, collapseID: [], isBroadcast: true)
        )
        #expect(broadcast.isBroadcast)
    }

    // MARK: The binary interface

    @Test("Over the binary interface there is a priority alone, and a payload that only wakes the app has 5")
    func binary() throws {
        for (number, priority) in [(nil, .immediate), (5, .powerSaving), (10, .immediate)]
            as [(UInt32?, NotificationPriority)]
        {
            let fill = { (request: inout PushSendRequest) in
                if let number { request.priority = number }
                request.pushType = "nonsense"
                request.collapseID = " x"
            }
            #expect(try terms(of: Self.alert, over: .binary, fill) == .binary(priority))
            #expect(try terms(of: Self.wakes, over: .binary, fill) == .binary(.powerSaving))
        }
        #expect(try !terms(over: .binary).isBroadcast)
    }

    @Test("Over the binary interface the priority 1 is refused, whatever the payload")
    func neverWaking() {
        for payload in [Self.alert, Self.wakes] {
            #expect(
                refusal(of: payload, over: .binary) { $0.priority = 1 }
                    == "priority-invalid: 'priority' is 1; allowed over the binary interface: 10, 5"
            )
        }
    }

    // MARK: Structured notifications

    @Test("A payload that is made of a notification has the terms that are read of its bytes")
    func structured() throws {
        let fills: [(inout PushNotification) -> Void] = [
            { $0.alert.body = "Hi" }, { $0.contentAvailable = true }, { $0.sound.name = "bell" },
            { notification in
                notification.contentAvailable = true
                notification.localizations["de"] = .with { $0.body = "Tor" }
            },
            { notification in
                notification.contentAvailable = true
                notification.badge.set = 3
            },
        ]
        for transport in APNsTransport.allCases {
            for (number, fill) in fills.enumerated() {
                for priority in [nil, 5, 10] as [UInt32?] {
                    try judge(over: transport) { request in
                        request.notification = .with(fill)
                        if let priority { request.priority = priority }
                    } _: { judged, request in
                        let content = try #require(try judged.notification(of: request))
                        for language in content.template.languageNumbers {
                            let made = try content.payload(language: language, overrides: TokenOverrides(), by: judged)
                            let fitted = content.priority(language: language).priority
                            let read = try made.bytes.withUnsafeBytes { try judged.terms(priority: fitted, of: $0) }
                            #expect(made.terms == read, "notification \(number), language \(language)")
                        }
                    }
                }
            }
        }
    }
}
