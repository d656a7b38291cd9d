import APNsProtocol
import TestSupport
import Testing

@Suite struct ProviderErrorBodyTests {
    static func parse(_ text: String) -> Result<ProviderErrorBody, ProviderErrorBodyFault> {
        Result { () throws(ProviderErrorBodyFault) in try ProviderErrorBody(parsing: Array(text.utf8)) }
    }

    @Test("Every documented reason comes back from the body that is written for it")
    func roundTrip() {
        for entry in ProviderReason.table {
            for timestamp in [nil, 0, 1_366_709_400_123] as [Int64?] {
                let body = ProviderErrorBody(reason: entry.reason, timestampMilliseconds: timestamp)
                #expect(Self.parse(String(decoding: body.json, as: UTF8.self)) == .success(body))
            }
        }
        #expect(ProviderErrorBody(reason: .badTopic).json == Array(#"{"reason":"BadTopic"}"#.utf8))
    }

    @Test(
        "Order, white space, escapes and unknown members do not matter",
        arguments: [
            #" { "timestamp" : 12 , "reason" : "Shutdown" } "#, #"{"re\u0061son":"Shut\u0064own","timestamp":12}"#,
            #"{"a":[1,{"b":[null,true,false,-1.5e+3]}],"reason":"Shutdown","timestamp":12,"c":"\ud834\udd1e"}"#,
        ]
    )
    func forms(text: String) {
        #expect(Self.parse(text) == .success(ProviderErrorBody(reason: .shutdown, timestampMilliseconds: 12)))
    }

    @Test(
        "A body that cannot be used says why",
        arguments: [
            ("", .empty), ("null", .malformed(offset: 0)), ("{", .malformed(offset: 1)), ("[]", .malformed(offset: 0)),
            (#"{"reason":"a""#, .malformed(offset: 13)), (#"{"reason":"a",}"#, .malformed(offset: 14)),
            (#"{"reason":"a"}x"#, .malformed(offset: 14)), (#"{"reason":1}"#, .malformed(offset: 10)),
            (#"{"reason":"a","timestamp":"1"}"#, .malformed(offset: 26)),
            (#"{"reason":"a","timestamp":-1}"#, .malformed(offset: 26)),
            (#"{"reason":"a","timestamp":1.5}"#, .malformed(offset: 27)),
            (#"{"reason":"a","timestamp":1e3}"#, .malformed(offset: 27)),
            (#"{"reason":"a","timestamp":01}"#, .malformed(offset: 27)),
            (#"{"reason":"a","timestamp":9223372036854775808}"#, .malformed(offset: 44)),
            (#"{"reason":"\ud800"}"#, .malformed(offset: 11)), (#"{"reason":"\x"}"#, .malformed(offset: 11)),
            (#"{"reason":"a","reason":"b"}"#, .duplicate("reason")),
            (#"{"timestamp":1,"reason":"a","timestamp":1}"#, .duplicate("timestamp")),
            ("{}", .reasonMissing), (#"{"timestamp":1}"#, .reasonMissing), (#"{"reason":""}"#, .reasonInvalid),
            (#"{"reason":"a\nb"}"#, .reasonInvalid), (#"{"reason":"\u00e9"}"#, .reasonInvalid),
        ] as [(String, ProviderErrorBodyFault)]
    )
    func faults(text: String, fault: ProviderErrorBodyFault) {
        #expect(Self.parse(text) == .failure(fault))
    }

    @Test("A body is read up to its limit, and a reason up to its own")
    func limits() {
        let reason = String(repeating: "r", count: ProviderErrorBody.reasonLimitBytes)
        #expect(Self.parse(#"{"reason":"\#(reason)"}"#) == .success(.init(reason: .init(rawValue: reason))))
        #expect(Self.parse(#"{"reason":"\#(reason)r"}"#) == .failure(.reasonInvalid))

        let plain = #"{"reason":"a"}"#
        let full = plain + String(repeating: " ", count: ProviderErrorBody.limitBytes - plain.utf8.count)
        #expect(Self.parse(full) == .success(.init(reason: .init(rawValue: "a"))))
        #expect(Self.parse(full + " ") == .failure(.tooLarge(bytes: ProviderErrorBody.limitBytes + 1)))
    }

    @Test("Nesting is followed down to its limit and no further", arguments: ["[", "{\"a\":"])
    func depth(opening: String) {
        let closing = opening == "[" ? "]" : "}"
        func nested(_ depth: Int) -> String {
            let value = String(repeating: opening, count: depth) + "0" + String(repeating: closing, count: depth)
            return "{\"x\":\(value),\"reason\":\"a\"}"
        }
        let limit = PayloadScanner.depthLimit
        #expect(Self.parse(nested(limit)) == .success(.init(reason: .init(rawValue: "a"))))
        #expect(Self.parse(nested(limit + 1)) == .failure(.tooDeep(offset: 5 + limit * opening.utf8.count)))
    }

    @Test("A body that is cut anywhere is refused")
    func cut() {
        let whole = #"{"reason":"BadDeviceToken","x":[{"y":true},-1.5e3],"timestamp":12}"#
        #expect(throws: Never.self) { try Self.parse(whole).get() }
        for count in 0..<whole.utf8.count {
            #expect(throws: ProviderErrorBodyFault.self) {
                try ProviderErrorBody(parsing: Array(whole.utf8.prefix(count)))
            }
        }
    }

    @Test("No bytes bring the reader down, and what it accepts it accepts again", arguments: 0..<20 as Range<UInt64>)
    func noise(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let seedling = Array(#"{"reason":"Shut\u0064own","x":[{"y":-1.5e3}],"timestamp":1366709400123}"#.utf8)
        for _ in 0..<500 {
            var bytes = seedling
            for _ in 0...random.pick(0...3) {
                bytes[random.pick(0...bytes.count - 1)] = UInt8.random(in: 0...255, using: &random)
            }
            if random.chance(30) { bytes.removeLast(random.pick(1...bytes.count)) }
            guard let body = try? ProviderErrorBody(parsing: bytes) else { continue }
            // A reason with a quotation mark or a backslash is not one that the service writes.
            guard !body.reason.rawValue.contains(where: { $0 == "\"" || $0 == "\\" }) else { continue }
            #expect(try ProviderErrorBody(parsing: body.json) == body)
        }
    }
}
