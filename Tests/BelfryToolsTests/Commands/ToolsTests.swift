import APNsProtocol
import BelfryProducer
import BelfrySupport
import Foundation
import PushSchemas
import SwiftProtobuf
import Testing

@testable import BelfryTools
@testable import PushTopics

@Suite("Tokens given to the tools")
struct TokenInputTests {
    @Test("No token at all is a mistake")
    func none() throws {
        let empty = ToolError.invalidInput(["no token was given"])
        #expect(throws: empty) { try TokenInput.listed([]).tokens(lengths: 32...32) }
        #expect(throws: empty) { try TokenInput.file("/dev/null", .lines).tokens(lengths: 32...32) }
        #expect(throws: empty) { try CheckedTokens(.file("/dev/null", .packed), lengths: 32...32).requireGood() }
    }

    @Test("A wrong token given by itself is named by its place, not by its digits")
    func listed() throws {
        #expect(all(try TokenInput.listed([hex(9)]).tokens(lengths: 32...100)) == [token(9)])
        #expect(throws: ToolError.invalidInput(["token 1 of 1: the token has 2 bytes; allowed: 32...100"])) {
            try TokenInput.listed(["0102"]).tokens(lengths: 32...100)
        }
    }

    @Test("A token is taken as apps print it, in brackets and with spaces; half of the brackets are wrong digits")
    func printed() throws {
        let digits = hex(9)
        let printed =
            "<" + stride(from: 0, to: 64, by: 8).map { digits.dropFirst($0).prefix(8) }.joined(separator: " ") + ">"
        #expect(printed.count == 73 && PrintedToken.digits(printed) == digits && PrintedToken.digits(digits) == digits)
        #expect(all(try TokenInput.listed([printed]).tokens(lengths: 32...100)) == [token(9)])
        for wrong in ["<" + digits, digits + ">", "<>", "<zz>", "0a 0a"] {
            #expect(throws: ToolError.self) { try TokenInput.listed([wrong]).tokens(lengths: 32...100) }
        }
    }

    private func all(_ tokens: PackedTokens) -> [[UInt8]] {
        (0..<tokens.count).map { tokens.withToken(at: $0) { Array($0) } }
    }
}

@Suite("Records the tools publish")
struct OutgoingRecordTests {
    @Test("Tokens of one shard share a record, in order, at most so many")
    func shards() throws {
        var template = template()
        template.spread = 4
        template.tokensPerRecord = 10
        let tokens = list((0..<250).map { token(UInt8($0)) })
        let records = try records(template, tokens)
        var seen: [String: [[UInt8]]] = [:]
        for record in records {
            let found = try view(record) { view in (0..<view.tokenCount).map { Array(view.token(at: $0).bytes) } }
            #expect(found.count == record.tokenCount)
            #expect((1...10).contains(found.count))
            for token in found {
                let shard = token.withUnsafeBytes { RecordKey.shard(of: $0, spread: 4) }
                #expect(record.key == "com.example.news#\(shard)")
            }
            seen[record.key, default: []] += found
        }
        #expect(seen.values.map(\.count).reduce(0, +) == 250)
        for tokens in seen.values {
            #expect(tokens == tokens.sorted { $0[0] < $1[0] }, "the order of the input is kept within a shard")
        }
        #expect(records.filter { $0.tokenCount < 10 }.count <= 4, "only the last of each shard is not full")
    }

    @Test("Without a spread the key is the bundle ID alone")
    func noSpread() throws {
        let records = try records(template(), list([token(1), token(2)]))
        #expect(records.map(\.key) == ["com.example.news"])
        #expect(records.map(\.tokenCount) == [2])
        #expect(records.allSatisfy { $0.headers.isEmpty })
    }

    @Test("Tokens that cannot be packed are listed one by one")
    func longTokens() throws {
        let long = [UInt8](repeating: 7, count: 64)
        let records = try records(template(), list([token(1), long]))
        #expect(try view(records[0]) { view in (0..<2).map { Array(view.token(at: $0).bytes) } } == [token(1), long])
    }

    @Test("Both formats say the same request; JSON says so in its header", arguments: RecordFormat.allCases)
    func formats(format: RecordFormat) throws {
        var template = template()
        template.format = format
        template.environment = "sandbox"
        template.expiration = 1_700_000_000
        template.priority = 5
        template.coalescingKey = "match-7"
        template.pushType = "voip"
        template.collapseID = "score"
        let record = try #require(try records(template, list([token(1), token(2)])).first)
        #expect(record.headers.map(\.name) == (format == .json ? ["content-type"] : []))
        try view(record) { view in
            #expect(String(decoding: view.requestID, as: UTF8.self) == "r-1")
            #expect(String(decoding: view.environment, as: UTF8.self) == "sandbox")
            #expect(String(decoding: view.payload, as: UTF8.self) == #"{"aps":{"alert":"grüß dich"}}"#)
            #expect(view.expiration == 1_700_000_000)
            #expect(view.priority == 5)
            #expect(Array(view.coalescingKey) == Array("match-7".utf8))
            #expect(String(decoding: view.pushType, as: UTF8.self) == "voip")
            #expect(String(decoding: view.collapseID, as: UTF8.self) == "score")
            #expect((0..<2).map { Array(view.token(at: $0).bytes) } == [token(1), token(2)])
        }
    }

    @Test(
        "A registration is published under the key of its token's shard, in both formats",
        arguments: RecordFormat.allCases
    )
    func registrations(format: RecordFormat) throws {
        var order = RegistrationOrder(bundleID: "com.example.news", tokens: .listed([hex(1), hex(2)]))
        order.format = format
        order.spread = 8
        order.registeredAt = 1_700_000_000
        order.kind = .unregister
        order.locale = "pt-BR"
        order.timeZone = "America/Sao_Paulo"
        order.environment = "sandbox"
        let (template, tokens) = try order.checked()
        var records: [OutgoingRecord] = []
        try RegistrationBatcher(template).forEachRecord(of: tokens) { records.append($0) }
        #expect(records.count == 2)
        for (record, token) in zip(records, [token(1), token(2)]) {
            let shard = token.withUnsafeBytes { RecordKey.shard(of: $0, spread: 8) }
            #expect(record.key == "com.example.news#\(shard)")
            let registration: PushRegistration = try record.value.withUnsafeBytes {
                try RequestDecoding.decode(from: $0, as: contentType(of: record))
            }
            #expect(try registration.token.bytes() == token)
            #expect(registration.registeredAt == 1_700_000_000)
            #expect(registration.kind == .unregister)
            #expect(registration.locale == "pt-BR")
            #expect(registration.timeZone == "America/Sao_Paulo")
            #expect(registration.environment == "sandbox")
        }
    }

    private func template() -> RequestBatcher.Template {
        let payload = #"{"aps":{"alert":"grüß dich"}}"#
        return .init(bundleID: "com.example.news", requestID: "r-1", content: .payload(Array(payload.utf8)))
    }

    private func list(_ tokens: [[UInt8]]) -> PackedTokens {
        var list = PackedTokens()
        for token in tokens { list.append(token) }
        return list
    }

    private func records(_ template: RequestBatcher.Template, _ tokens: PackedTokens) throws -> [OutgoingRecord] {
        var records: [OutgoingRecord] = []
        var batcher = try RequestBatcher(template)
        try batcher.forEachRecord(of: tokens) { records.append($0) }
        return records
    }

    private func contentType(of record: OutgoingRecord) -> RecordContentType {
        let header = record.headers.first { $0.name == RecordContentType.headerName }
        return header.map { $0.value.withUnsafeBytes { RecordContentType(header: $0) } } ?? .protobuf
    }

    private func view<R>(_ record: OutgoingRecord, _ body: (SendRequestView) throws -> R) throws -> R {
        try record.value.withUnsafeBytes {
            try body(try SendRequestView(decoding: $0, as: contentType(of: record)))
        }
    }
}

@Suite("Orders are checked before anything is published")
struct OrderTests {
    @Test("White space of the payload is stripped before it is published")
    func stripped() throws {
        let order = order(payload: "{ \"aps\" : { } }\n")
        #expect(try order.checked().template.content == .payload(Array(#"{"aps":{}}"#.utf8)))
    }

    @Test("All mistakes are told at once")
    func allAtOnce() {
        var order = order(payload: #"{"aps":{"badge":5,}}"#, tokens: ["00"])
        order.bundleID = "com example"
        order.spread = 0
        order.tokensPerRecord = 0
        order.priority = 7
        order.transport = .binary
        order.coalescingKey = String(repeating: "k", count: 256)
        let faults = faults(order)
        #expect(faults.count == 7, "\(faults)")
        #expect(faults[0].hasPrefix("app: the bundle ID has a character other than"))
        #expect(faults[1] == "spread: found 0; allowed: 1...65536")
        #expect(faults[2] == "tokens per record: found 0; allowed: 1...10000")
        #expect(faults[3] == "priority-invalid: 'priority' is 7; 10, 5 and 1 are allowed")
        #expect(faults[4] == "coalescing-key-too-long: 'coalescing_key' has 256 bytes; 255 are allowed")
        #expect(faults[5].hasPrefix("payload-invalid: payload: "))
        #expect(faults[5].contains("at byte 18"))
        #expect(faults[6] == "token 1 of 1: the token has 1 byte; allowed: 32...100")
    }

    @Test("The push type's rule for aps is the order's, and a mistake in the payload is told once")
    func withoutAps() throws {
        var order = order(payload: #"{ "mdm": "x" }"#)
        order.transport = .http2
        order.payloadRule = .byPushType
        order.pushType = "mdm"
        #expect(try order.checked().template.content == .payload(Array(#"{"mdm":"x"}"#.utf8)))
        order.content = .payload(Array(#"{"mdm":"x","aps":{}}"#.utf8))
        #expect(faults(order).map { $0.hasPrefix("payload-invalid: ") } == [true])
        order.content = .payload(Array(#"{"mdm":"x"}"#.utf8))
        order.pushType = ""
        #expect(faults(order).map { $0.hasPrefix("payload-invalid: ") } == [true])
    }

    @Test(
        "A priority is one that the transport and the push type allow, where they are known",
        arguments: [
            (.binary, "", [10, 5]), (.binary, "background", [10, 5]), (.http2, "", [10, 5, 1]),
            (.http2, "background", [5]), (.http2, "alert", [10, 5]), (.http2, "voip", [10, 5, 1]),
            (nil, "", [10, 5, 1]), (nil, "background", [5]),
        ] as [(EnvironmentSettings.Transport?, String, [UInt32])]
    )
    func priorities(transport: EnvironmentSettings.Transport?, pushType: String, allowed: [UInt32]) {
        var order = order()
        order.transport = transport
        order.pushType = pushType
        for priority in [0, 1, 5, 7, 10] as [UInt32] {
            order.priority = priority
            let isAllowed = allowed.contains(priority)
            let faults = faults(order)
            #expect(faults.count == (isAllowed ? 0 : 1))
            #expect(faults.allSatisfy { $0.hasPrefix("priority-invalid: 'priority' is \(priority); ") }, "\(faults)")
            let isToldOfOne = faults.contains { $0.hasSuffix("10, 5 and 1 are allowed") }
            #expect(priority != 0 || isToldOfOne == (transport != .binary), "\(faults)")
        }
        order.priority = nil
        #expect(faults(order).isEmpty)
    }

    @Test("What a registrar would refuse, cut or leave out of a registration is told before anything is published")
    func registration() throws {
        var order = RegistrationOrder(bundleID: "a.b", tokens: .listed([]))
        order.registeredAt = 0
        order.locale = String(repeating: "x", count: 36)
        order.timeZone = "Mars/Arcadia"
        let error = #expect(throws: ToolError.self) { _ = try order.template() }
        guard case .invalidInput(let lines) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(
            lines == [
                "the locale has 36 bytes; allowed: 35", "the time zone has 12 bytes; allowed: an IANA name, or 9",
                "registered at: found 0; allowed: \(RegistrationTime.allowed)",
            ]
        )
    }

    @Test("A broadcast is one record with the channel and without tokens, in either form")
    func broadcast() throws {
        for format in RecordFormat.allCases {
            var order = order(tokens: [])
            order.channel = "dHN0"
            order.expiration = 0
            order.priority = 10
            order.format = format
            let (template, tokens) = try order.checked()
            var batcher = try RequestBatcher(template)
            var records: [OutgoingRecord] = []
            try batcher.forEachRecord(of: tokens) { records.append($0) }
            let record = try #require(records.first)
            #expect(records.count == 1 && record.key == "a.b")
            let request =
                format == .json
                ? try PushSendRequest(jsonUTF8Bytes: record.value) : try PushSendRequest(serializedBytes: record.value)
            #expect(request.channel == "dHN0" && request.tokens.isEmpty && request.packedTokens.isEmpty)
            #expect(request.hasExpiration && request.priority == 10)
        }
    }

    @Test("What a worker would refuse of a broadcast is told")
    func wrongBroadcast() {
        var order = order(tokens: [])
        order.channel = "x"
        order.transport = .binary
        order.pushType = "alert"
        order.collapseID = "c"
        #expect(
            faults(order) == [
                "channel-unsupported: 'channel' is set; the environment has the binary interface, "
                    + "which knows no channels",
                "channel-invalid: 'channel' is 'x', no channel id; allowed: base64, 4 to 100 characters",
                "push-type-invalid: 'push_type' is alert; allowed with 'channel': liveactivity",
                "broadcast-incomplete: 'expiration' and 'priority' must be set with 'channel'",
                "collapse-id-invalid: 'collapse_id' is set beside 'channel'; a broadcast has none",
            ]
        )
    }

    @Test("Bytes that are no text are no payload, in either form", arguments: RecordFormat.allCases)
    func notText(format: RecordFormat) {
        var order = order()
        order.format = format
        order.content = .payload(Array(#"{"aps":{"alert":""#.utf8) + [0xFF] + Array(#""}}"#.utf8))
        #expect(faults(order).count == 1)
        #expect(faults(order).allSatisfy { $0.hasPrefix("payload-invalid: ") })
    }

    @Test("An empty topic is a mistake of its own")
    func emptyTopic() {
        var order = order(payload: #"{"aps":{}}"#)
        order.bundleID = ""
        #expect(faults(order) == ["app: it is empty"])
    }

    private func order(payload: String = #"{"aps":{}}"#, tokens: [String] = [hex(1)]) -> PublishOrder {
        PublishOrder(bundleID: "a.b", tokens: .listed(tokens), content: .payload(Array(payload.utf8)), requestID: "r")
    }

    private func faults(_ order: PublishOrder) -> [String] {
        do throws(ToolError) {
            _ = try order.checked()
            return []
        } catch {
            guard case .invalidInput(let lines) = error else { return ["\(error)"] }
            return lines
        }
    }
}

/// 32 bytes that begin with `number`.
private func token(_ number: UInt8) -> [UInt8] {
    [number] + [UInt8](repeating: 0xAB, count: 31)
}

private func hex(_ number: UInt8) -> String {
    Hex.encode(token(number))
}
