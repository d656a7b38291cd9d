import APNsProtocol
import BelfrySupport
import Foundation
import PushSchemas
import RequestRules
import Testing

@testable import Sender

/// The rules that publishers ask before a record leaves, beside the worker that gets it.
@Suite("Publishers and workers have the same rules")
struct SameRulesTests {
    private typealias Fill = (inout PushSendRequest) -> Void

    @Test("A publisher is told, word for word, what the dead letters would say", arguments: APNsTransport.allCases)
    func words(transport: APNsTransport) throws {
        for spread in [nil, 1, 4] as [UInt32?] {
            for shard in [nil, 0, 1] as [UInt32?] {
                for (number, fill) in Self.fills.enumerated() {
                    let bench = IntakeBench(transport, spread: spread)
                    _ = try bench.take(shard: shard, fill)
                    let told = try Self.told(fill, transport, spread: spread, shard: shard)
                    #expect(told == bench.letters, "request \(number), spread \(spread ?? 0), shard \(shard ?? 0)")
                }
            }
        }
    }

    @Test("So is what they would say of sensitive data", arguments: SensitiveDataPolicy.allCases)
    func sensitiveData(policy: SensitiveDataPolicy) throws {
        for transport in APNsTransport.allCases {
            var refused = 0
            for (number, fill) in (Self.fills + Self.sensitiveFills).enumerated() {
                let bench = IntakeBench(transport, sensitiveData: policy)
                _ = try bench.take(fill)
                let told = try Self.told(fill, transport, spread: nil, shard: nil, policy)
                #expect(told == bench.letters, "request \(number)")
                refused += told.count { $0.hasPrefix("sensitive-data: ") }
            }
            #expect(refused == (policy == .refuse ? Self.sensitiveFills.count : 0))
        }
    }

    private static var sensitiveFills: [Fill] {
        let card = "4111 1111 1111 1111"
        return [
            { $0.payload = Data(#"{"aps":{"alert":"Card \#(card)"}}"#.utf8) },
            { $0.payload = Data(#" { "aps": {"alert": {"body": "\u00312\u0033-45-6789"}}}"#.utf8) },
            notification { $0.alert.body = card },
            notification { message in
                message.alert.body = "Hi"
                message.localizations["pt-BR"] = .with { $0.locArgs = ["", card] }
                message.localizations["de"] = .with { $0.title = card }
            },
            { request in
                request.notification.alert.locKey = "k"
                request.packedTokens = Data()
                request.tokens = [[], ["a"], [card], ["a", card]].enumerated().map { index, arguments in
                    .with {
                        $0.raw = Data(repeating: UInt8(index), count: index == 3 ? 31 : 32)
                        $0.locArgs = arguments
                    }
                }
            },
        ]
    }

    /// Some are right, the others wrong in one way or several.
    private static var fills: [Fill] {
        [
            { _ in },
            { $0.payload = Data(#"{"aps":{"badge":5,}}"#.utf8) },
            { $0.payload = Data("[]".utf8) },
            { $0.payload = Data(String(repeating: " ", count: 300).utf8) + $0.payload },
            { $0.payload = payload(257) },
            { $0.payload = payload(4097) },
            { request in
                request.payload = payload(4097)
                request.pushType = "voip"
            },
            { $0.pushType = "Alert" },
            { $0.pushType = "größe" },
            { request in
                request.pushType = "background"
                request.priority = 10
            },
            pushType("mdm", #"{"mdm":"x"}"#),
            pushType("mdm", #"{"mdm":"x","aps":{}}"#),
            pushType("background", "{}"),
            pushType("controls", "{}"),
            { request in
                request.notification.alert.body = "Hi"
                request.pushType = "mdm"
            },
            { $0.priority = 1 },
            { $0.collapseID = " x" },
            { $0.collapseID = String(repeating: "x", count: 65) },
            { $0.packedTokens = Data((0..<96).map { UInt8($0) }) },
            { $0.packedTokens = Data(repeating: 2, count: 64) },
            { request in
                request.packedTokens = Data()
                request.tokens = [1, 31, 32, 100, 101].map { bytes in
                    .with { $0.raw = Data(repeating: 7, count: bytes) }
                }
            },
            { request in
                request.packedTokens = Data()
                request.tokens = ["", "zz", "abc"].map { text in .with { $0.hex = text } }
            },
            channel("AAAA") { _ in },
            channel("x") { _ in },
            channel("x'\n") { _ in },
            channel("AAAA") { $0.clearExpiration() },
            channel("AAAA") { $0.priority = 0 },
            channel("AAAA") { $0.pushType = "alert" },
            channel("AAAA") { $0.collapseID = "c" },
            channel("AAAA") { $0.payload = payload(5121) },
            notification { $0.alert.body = "Hi" },
            notification { $0.relevanceScore = 2 },
            notification { $0.alert.body = String(repeating: "x", count: 4100) },
            notification { message in
                message.alert.body = "Hi"
                message.localizations["de"] = .with { $0.body = String(repeating: "x", count: 4100) }
            },
            { request in
                request.notification.category = "c"
                request.priority = 10
            },
            { request in
                request.notification.contentAvailable = true
                request.pushType = "alert"
                request.priority = 1
            },
        ]
    }

    private static func pushType(_ name: String, _ payload: String) -> Fill {
        { request in
            request.pushType = name
            request.payload = Data(payload.utf8)
        }
    }

    private static func payload(_ bytes: Int) -> Data {
        let text = String(repeating: "x", count: bytes - #"{"aps":{"alert":""}}"#.utf8.count)
        return Data(#"{"aps":{"alert":"\#(text)"}}"#.utf8)
    }

    private static func channel(_ id: String, _ fill: @escaping Fill) -> Fill {
        { request in
            request.packedTokens = Data()
            request.channel = id
            request.expiration = 0
            request.priority = 10
            fill(&request)
        }
    }

    private static func notification(_ fill: @escaping (inout PushNotification) -> Void) -> Fill {
        { request in fill(&request.notification) }
    }

    private static func told(
        _ fill: Fill,
        _ transport: APNsTransport,
        spread: UInt32?,
        shard: UInt32?,
        _ sensitiveData: SensitiveDataPolicy = .off
    ) throws -> [String] {
        var request = PushSendRequest.with {
            $0.payload = Data(#"{"aps":{"alert":"Hi"}}"#.utf8)
            $0.packedTokens = Data(repeating: 1, count: 32)
        }
        fill(&request)
        let value: [UInt8] = try request.serializedBytes()
        let key = Array(try RecordKey(bundleID: IntakeBench.bundleID, shard: shard).description.utf8)
        let place = EnvironmentSettings(name: "sandbox", gateways: [], transport: transport)
        let validator = RequestValidator(
            transport: transport,
            payload: BelfryConfiguration().topic(IntakeBench.bundleID, in: place).payload,
            tokens: TokenRule(lengths: 32...place.tokenLimitBytes, spread: spread),
            sensitiveData: sensitiveData
        )
        let faults = key.withUnsafeBytes { key in
            value.withUnsafeBytes { validator.faults(key: key, value: $0, as: .protobuf) }
        }
        return faults.map { "\($0.refusal)" }
    }
}
