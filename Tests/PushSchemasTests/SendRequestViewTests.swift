import Foundation
import SwiftProtobuf
import Testing

@testable import PushSchemas

@Suite("Requests read in place")
struct SendRequestViewTests {
    @Test("Packed tokens, payload and names are shown where they stand, without a copy")
    func packedInPlace() throws {
        let tokens = (0..<3).map { [UInt8](repeating: UInt8($0 + 1), count: 32) }
        let request = PushSendRequest.with {
            $0.requestID = "r-1"
            $0.environment = "sandbox"
            $0.payload = Data(#"{"aps":{}}"#.utf8)
            $0.packedTokens = Data(tokens.joined())
            $0.expiration = 1_700_000_000
            $0.priority = 5
            $0.coalescingKey = "match-7"
            $0.pushType = "background"
            $0.collapseID = "score"
        }
        let value: [UInt8] = try request.serializedBytes()
        try value.withUnsafeBytes { bytes in
            let view = try SendRequestView(decoding: bytes, as: .protobuf)
            #expect(!view.ownsStorage)
            #expect(String(decoding: view.requestID, as: UTF8.self) == "r-1")
            #expect(String(decoding: view.environment, as: UTF8.self) == "sandbox")
            #expect(String(decoding: view.payload, as: UTF8.self) == #"{"aps":{}}"#)
            #expect(view.expiration == 1_700_000_000)
            #expect(view.priority == 5)
            #expect(Array(view.coalescingKey) == Array("match-7".utf8))
            #expect(String(decoding: view.pushType, as: UTF8.self) == "background")
            #expect(String(decoding: view.collapseID, as: UTF8.self) == "score")
            #expect(isWithin(view.pushType, bytes) && isWithin(view.collapseID, bytes))
            #expect(view.tokenCount == 3)
            for index in 0..<3 { #expect(Array(view.token(at: index).bytes) == tokens[index]) }
            #expect(isWithin(view.payload, bytes))
            #expect(isWithin(view.token(at: 2).bytes, bytes))
        }
    }

    @Test("A single raw token of any length is shown in place too")
    func singleRawToken() throws {
        for length in [1, 10, 32, 200] {
            let value = try serialized { $0.tokens = [.with { $0.raw = Data(repeating: 7, count: length) }] }
            try value.withUnsafeBytes { bytes in
                let view = try SendRequestView(decoding: bytes, as: .protobuf)
                #expect(!view.ownsStorage)
                #expect(view.tokenCount == 1)
                #expect(Array(view.token(at: 0).bytes) == [UInt8](repeating: 7, count: length))
            }
        }
    }

    @Test("Tokens of several forms keep their index, and only the faulty ones are at fault")
    func mixedTokens() throws {
        let value = try serialized {
            $0.tokens = [
                .with { $0.raw = Data([1, 2, 3]) }, .with { $0.hex = "0A0b" }, .with { $0.hex = "xyz" },
                PushDeviceToken(), .with { $0.raw = Data() }, .with { $0.hex = "" }, .with { $0.hex = "ff" },
            ]
        }
        try value.withUnsafeBytes { bytes in
            let view = try SendRequestView(decoding: bytes, as: .protobuf)
            #expect(view.tokenCount == 7)
            #expect(
                (0..<7).map { view.token(at: $0).fault } == [
                    nil, nil, .tokenNotHexadecimal, .tokenMissing, .tokenMissing, .tokenMissing, nil,
                ]
            )
            #expect((0..<7).map { Array(view.token(at: $0).bytes) } == [[1, 2, 3], [10, 11], [], [], [], [], [255]])
        }
    }

    @Test("A request in JSON is the same request")
    func json() throws {
        let text = #"""
            {"requestId": "r", "payloadJson": "{\"aps\":{\"badge\":1}}", "expiration": "12",
             "pushType": "voip", "collapseId": "score",
             "tokens": [{"hex": "0102"}, {"raw": "AwQ="}]}
            """#
        try Array(text.utf8).withUnsafeBytes { bytes in
            let view = try SendRequestView(decoding: bytes, as: .json)
            #expect(view.ownsStorage)
            #expect(String(decoding: view.payload, as: UTF8.self) == #"{"aps":{"badge":1}}"#)
            #expect(view.expiration == 12)
            #expect(view.priority == nil)
            #expect(String(decoding: view.pushType, as: UTF8.self) == "voip")
            #expect(String(decoding: view.collapseID, as: UTF8.self) == "score")
            #expect((0..<2).map { Array(view.token(at: $0).bytes) } == [[1, 2], [3, 4]])
        }
    }

    @Test("A view of JSON lives on after the record is gone")
    func jsonOutlivesTheRecord() throws {
        let token = Data(repeating: 9, count: 64).base64EncodedString()
        var value = Array(#"{"payloadJson":"{}","packedTokens":"\#(token)"}"#.utf8)
        let view = try value.withUnsafeBytes { try SendRequestView(decoding: $0, as: .json) }
        for index in value.indices { value[index] = 0 }
        #expect(view.tokenCount == 2)
        #expect(Array(view.token(at: 1).bytes) == [UInt8](repeating: 9, count: 32))
    }

    @Test("What is absent is not said")
    func defaults() throws {
        let value = try serialized { $0.tokens = [.with { $0.hex = "00" }] }
        try value.withUnsafeBytes { bytes in
            let view = try SendRequestView(decoding: bytes, as: .protobuf)
            #expect(view.expiration == nil)
            #expect(view.priority == nil)
            #expect(view.pushType.isEmpty && view.collapseID.isEmpty)
            #expect(view.requestID.isEmpty)
            #expect(view.environment.isEmpty)
            #expect(view.coalescingKey.isEmpty)
        }
    }

    @Test("A channel stands in place of the only token, where it stands in the record")
    func channel() throws {
        let value = try serialized { $0.channel = "dHN0LXNyY2gtY2hubA==" }
        try value.withUnsafeBytes { bytes in
            let view = try SendRequestView(decoding: bytes, as: .protobuf)
            #expect(view.isBroadcast && view.tokenCount == 1)
            #expect(String(decoding: view.token(at: 0).bytes, as: UTF8.self) == "dHN0LXNyY2gtY2hubA==")
            #expect(!view.ownsStorage && isWithin(view.token(at: 0).bytes, bytes))
        }
        let json = Array(#"{"payloadJson":"{}","channel":"dHN0","expiration":"0"}"#.utf8)
        try json.withUnsafeBytes { bytes in
            let view = try SendRequestView(decoding: bytes, as: .json)
            #expect(view.isBroadcast && view.tokenCount == 1)
            #expect(String(decoding: view.token(at: 0).bytes, as: UTF8.self) == "dHN0")
            #expect(view.expiration == 0)
        }
        let tokens = try serialized { $0.packedTokens = Data(repeating: 1, count: 32) }
        try tokens.withUnsafeBytes { bytes in
            let view = try SendRequestView(decoding: bytes, as: .protobuf)
            #expect(!view.isBroadcast)
        }
    }

    @Test("An expiration of 0 is said, an absent one is not, in both forms")
    func saidExpiration() throws {
        for (expiration, text) in [
            (nil, ""), (nil, #","expiration":null"#), (0, #","expiration":"0""#), (0, #","expiration":0"#),
            (7, #","expiration":"7""#),
        ] as [(UInt32?, String)] {
            let value = try serialized {
                $0.packedTokens = Data(repeating: 1, count: 32)
                if let expiration { $0.expiration = Int64(expiration) }
            }
            try value.withUnsafeBytes { bytes in
                let view = try SendRequestView(decoding: bytes, as: .protobuf)
                #expect(view.expiration == expiration)
            }
            let json = Array(#"{"payloadJson":"{}","tokens":[{"hex":"00"}]\#(text)}"#.utf8)
            try json.withUnsafeBytes { bytes in
                let view = try SendRequestView(decoding: bytes, as: .json)
                #expect(view.expiration == expiration, "\(text)")
            }
        }
    }

    @Test("Each priority that some transport takes is shown, and a priority of 0 is not said")
    func priorities() throws {
        for (priority, shown) in [(0, nil), (1, 1), (5, 5), (10, 10)] as [(UInt32, UInt8?)] {
            let value = try serialized {
                $0.packedTokens = Data(repeating: 1, count: 32)
                $0.priority = priority
            }
            try value.withUnsafeBytes { bytes in
                let view = try SendRequestView(decoding: bytes, as: .protobuf)
                #expect(view.priority == shown)
            }
        }
    }

    @Test("The JSON mapping knows the fields by both of their names")
    func jsonNames() throws {
        for names in [("pushType", "collapseId"), ("push_type", "collapse_id")] {
            let text = #"{"payloadJson": "{}", "tokens": [{"hex": "01"}], "\#(names.0)": "voip", "\#(names.1)": "c"}"#
            let message = try PushSendRequest(jsonString: text)
            #expect(message.pushType == "voip" && message.collapseID == "c")
        }
        let written = try PushSendRequest.with {
            $0.pushType = "voip"
            $0.collapseID = "c"
        }.jsonString()
        #expect(written == #"{"pushType":"voip","collapseId":"c"}"#)
    }

    @Test("A request that is at fault as a whole is refused with the rule it breaks")
    func faults() throws {
        let packed = Data(repeating: 1, count: 32)
        let cases: [(RecordFault, (inout PushSendRequest) -> Void)] = [
            (
                .payloadMissing,
                {
                    $0.content = nil
                    $0.packedTokens = packed
                }
            ),
            (
                .payloadMissing,
                {
                    $0.payload = Data()
                    $0.packedTokens = packed
                }
            ),
            (
                .payloadMissing,
                {
                    $0.payloadJson = ""
                    $0.packedTokens = packed
                }
            ),
            (.tokensMissing, { _ in }),
            (
                .tokensAmbiguous,
                {
                    $0.packedTokens = packed
                    $0.tokens = [.with { $0.hex = "00" }]
                }
            ),
            (
                .tokensAmbiguous,
                {
                    $0.packedTokens = packed
                    $0.channel = "dHN0"
                }
            ),
            (
                .tokensAmbiguous,
                {
                    $0.channel = "dHN0"
                    $0.tokens = [.with { $0.hex = "00" }]
                }
            ),
            (.packedTokensLength, { $0.packedTokens = Data(repeating: 1, count: 33) }),
            (.packedTokensLength, { $0.packedTokens = Data(repeating: 1, count: 31) }),
            (
                .expirationOutOfRange,
                {
                    $0.packedTokens = packed
                    $0.expiration = -1
                }
            ),
            (
                .expirationOutOfRange,
                {
                    $0.packedTokens = packed
                    $0.expiration = 1 << 32
                }
            ),
            (
                .priorityInvalid,
                {
                    $0.packedTokens = packed
                    $0.priority = 2
                }
            ),
            (
                .priorityInvalid,
                {
                    $0.packedTokens = packed
                    $0.priority = 266
                }
            ),
            (
                .coalescingKeyTooLong,
                {
                    $0.packedTokens = packed
                    $0.coalescingKey = String(repeating: "ü", count: 128)
                }
            ),
            (
                .reportInvalid,
                {
                    $0.packedTokens = packed
                    $0.report = .UNRECOGNIZED(4)
                }
            ),
        ]
        for (expected, populate) in cases {
            let binary = try serialized(populate)
            #expect(fault(binary, .protobuf) == expected)
            let json: [UInt8] = try request(populate).jsonUTF8Bytes()
            #expect(fault(json, .json) == expected)
        }
        #expect(fault([], .protobuf) == .valueEmpty)
        #expect(fault([], .json) == .valueEmpty)
    }

    @Test("Bytes that are not a request are undecodable")
    func undecodable() {
        let hostile: [[UInt8]] = [
            [0x00], [0x0A], [0x0A, 0x05, 0x61], [0xFF], [0x07], [0x0C], [0x0B], [0x0B, 0x14],
            // A length near 2^64, and a varint of eleven bytes.
            [0x0A] + [UInt8](repeating: 0xFF, count: 9) + [0x01],
            [0x38] + [UInt8](repeating: 0x80, count: 10) + [0x01],
            // Text that is not UTF-8: overlong, surrogate, cut off.
            [0x0A, 0x02, 0xC0, 0xAF], [0x12, 0x03, 0xED, 0xA0, 0x80], [0x22, 0x01, 0xE2],
            [0x52, 0x01, 0xFF], [0x5A, 0x01, 0xFF], [0x62, 0x01, 0xFF],
            // A token whose own fields are cut off.
            [0x2A, 0x02, 0x0A, 0x05],
            Array("hello, world".utf8),
        ]
        for bytes in hostile { #expect(fault(bytes, .protobuf) == .valueUndecodable, "\(bytes)") }
    }

    private func isWithin(_ inner: UnsafeRawBufferPointer, _ outer: UnsafeRawBufferPointer) -> Bool {
        guard let inner = inner.baseAddress, let outerStart = outer.baseAddress else { return false }
        return inner >= outerStart && inner < outerStart + outer.count
    }

    private func request(_ populate: (inout PushSendRequest) -> Void) -> PushSendRequest {
        .with {
            $0.payload = Data("{}".utf8)
            populate(&$0)
        }
    }

    private func serialized(_ populate: (inout PushSendRequest) -> Void) throws -> [UInt8] {
        try request(populate).serializedBytes()
    }

    private func fault(_ value: [UInt8], _ type: RecordContentType) -> RecordFault? {
        do {
            _ = try value.withUnsafeBytes { try SendRequestView(decoding: $0, as: type) }
            return nil
        } catch {
            return (error as? RecordError)?.fault
        }
    }
}
