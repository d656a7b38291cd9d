import Foundation
import SwiftProtobuf
import Testing

@testable import PushSchemas

/// Records as publishers get them wrong: what is plain is accepted, and of the rest the field and the cure are named.
@Suite struct WrongInputTests {
    private func message(_ text: String, as type: RecordContentType = .json) -> String {
        message(Array(text.utf8), as: type)
    }

    private func message(_ bytes: [UInt8], as type: RecordContentType) -> String {
        bytes.withUnsafeBytes { value in
            do throws(RecordError) {
                _ = try SendRequestView(decoding: value, as: type)
                return ""
            } catch {
                return error.message
            }
        }
    }

    // MARK: Tokens

    @Test("Tokens that are plain strings are their hexadecimal digits, beside others and in any place")
    func plainTokens() throws {
        let json = #"{"payloadJson":"{}", "tokens" : ["00ff", {"hex":"01"} , "Ab\u0031\u0032", {"raw":"AQI="}]}"#
        let tokens = try Array(json.utf8).withUnsafeBytes { value in
            let view = try SendRequestView(decoding: value, as: .json)
            return (0..<view.tokenCount).map { Array(view.token(at: $0).bytes) }
        }
        #expect(tokens == [[0x00, 0xFF], [0x01], [0xAB, 0x12], [0x01, 0x02]])
    }

    @Test("So are those of registrations")
    func plainRegistration() throws {
        let json = #"{"token":"00ff","replaced_token":"01"}"#
        let registration: PushRegistration = try Array(json.utf8).withUnsafeBytes {
            try RequestDecoding.decode(from: $0, as: .json)
        }
        #expect(try registration.token.bytes() == [0x00, 0xFF] && registration.replacedToken.bytes() == [0x01])
    }

    @Test("A plain string that is not hexadecimal is the fault of its token alone")
    func plainGarbage() throws {
        let json = #"{"payloadJson":"{}","tokens":["00ff","xyz"]}"#
        let faults = try Array(json.utf8).withUnsafeBytes { value in
            let view = try SendRequestView(decoding: value, as: .json)
            return (0..<view.tokenCount).map { view.token(at: $0).fault }
        }
        #expect(faults == [nil, .tokenNotHexadecimal])
    }

    // MARK: Forms

    @Test("JSON without its header and Protobuf under it are told apart")
    func forms() throws {
        let json = #" {"payloadJson":"{}","tokens":[{"hex":"00"}]}"#
        #expect(message(json, as: .protobuf).hasSuffix("looks like JSON: header content-type missing?"))
        let binary: [UInt8] = try PushSendRequest.with { $0.payloadJson = "{}" }.serializedBytes()
        #expect(message(binary, as: .json).hasSuffix("looks like Protobuf: is the header content-type wrong?"))
        let registration = Array(json.utf8).withUnsafeBytes { value in
            Result { try RequestDecoding.decode(PushRegistration.self, from: value, as: .protobuf) }
        }
        #expect(throws: RecordError.self) { try registration.get() }
        #expect("\(registration)".contains("header content-type missing?"))
    }

    // MARK: Fields

    @Test(
        "A value that is wrong is named with its path, what was found, what is allowed, and the cure",
        arguments: [
            (#"{"payloadJson":{"aps":{}}}"#, "'payloadJson' is an object; a text is allowed: quote it, or use"),
            (#"{"payload":{"aps":{}}}"#, "'payload' is an object; base64 is allowed: put it, quoted, into"),
            (#"{"payload":"{\"aps\":{}}"}"#, "'payload' is a text that is no base64; base64 is allowed: text belongs"),
            (#"{"tokens":"00ff"}"#, "'tokens' is a text; a list is allowed: put it into brackets"),
            (#"{"tokens":[{"hex":"00"},{"hex":5}]}"#, "'tokens[1].hex' is a number; a text is allowed"),
            (#"{"tokens":[null]}"#, "'tokens[0]' is null"),
            (#"{"tokens":[{"hex":"00","raw":"AA=="}]}"#, "'tokens[0].raw' is set beside 'hex'; one of the two"),
            (#"{"tokens":[{"badge":-1}]}"#, "'tokens[0].badge' is another number; a whole number from 0 to 4294967295"),
            (#"{"priority":"high"}"#, "'priority' is another text; a whole number from 0"),
            (#"{"expiration":"2026-01-01"}"#, "'expiration' is another text; a whole number is allowed: UNIX seconds"),
            (#"{"payloadJSON":"{}"}"#, "'payloadJSON' is no field: 'payloadJson' is one"),
            (#"{"token":"00"}"#, "'token' is no field: 'tokens' is one"),
            (#"{"aps":{}}"#, "'aps' is no field: the payload belongs, quoted, into 'payloadJson'"),
            (#"{"zzz":1}"#, "'zzz' is no field; allowed: requestId, environment,"),
            (#"{"\u001b[2J":1}"#, "no JSON"),
            (#"{"notification":{"alert":"Hi"}}"#, "'notification.alert' is a text; an object is allowed: write"),
            (
                #"{"notification":{"badge":3}}"#,
                #"'notification.badge' is a number; an object is allowed: write {"set": …} or {"add": 1}"#
            ),
            (
                #"{"notification":{"badge":{"add":2147483648}}}"#,
                "'notification.badge.add' is another number; a whole number from -2147483648 to 2147483647 is allowed"
            ),
            (#"{"notification":{"badge":{"add":"x"}}}"#, "'notification.badge.add' is another text; a whole number"),
            (#"{"notification":{"badge":{"clear":1}}}"#, "'notification.badge.clear' is a number; true or false"),
            (#"{"notification":{"badge":{"set":1,"add":1}}}"#, "'notification.badge.add' is set beside 'set'"),
            (#"{"notification":{"localizations":{"de":{"bdy":"x"}}}}"#, "'notification.localizations.de.bdy' is no"),
            (#"{"notification":{"contentAvailable":1}}"#, "'notification.contentAvailable' is a number; true or false"),
            (#"{"payloadJson":"{}","notification":{}}"#, "'notification' is set beside 'payloadJson'"),
            ("[]", "it is a list; an object is allowed, with the fields of SendRequest"),
            (#"{"tokens":["00"}"#, "no JSON at byte 15: a comma or a closing bracket is missing"),
            (#"{"payloadJson":"{}"} x"#, "no JSON at byte 21: there is more behind the end"),
            ("{\"payloadJson\":\"a\nb\"}", "no JSON at byte 17: a text has a raw control character"),
            (#"{"payloadJson":"{}",}"#, "no JSON at byte 20: a key in quotes is missing"),
            (#"{"payloadJson":"\u+123"}"#, "no JSON at byte 18: an escape has no four hexadecimal digits"),
            (#"{"payloadJson":"\u-000"}"#, "no JSON at byte 18: an escape has no four hexadecimal digits"),
            (#"{"payloadJson":"\ud83d\u+e00"}"#, "no JSON at byte 24: an escape has no four hexadecimal digits"),
        ]
    )
    func wrong(json: String, words: String) {
        let text = message(json)
        if words == "no JSON" {
            // An escape in a key is looked over.
            #expect(text.hasPrefix("not a belfry.push.v1.SendRequest in JSON: "))
        } else {
            #expect(text.hasPrefix("not a belfry.push.v1.SendRequest in JSON: \(words)"), "\(text)")
        }
    }

    @Test("A number that is too large gets no cure that is meant for numbers in place of objects")
    func cureOfNumbers() {
        #expect(message(#"{"tokens":[{"badge":-1}]}"#).hasSuffix("a whole number from 0 to 4294967295 is allowed"))
    }

    @Test("A badge is changed in each of its three ways, negative numbers and all")
    func badges() throws {
        let changes: [(String, PushBadge.OneOf_Change)] = [
            (#"{"set":4294967295}"#, .set(.max)), (#"{"add":-2147483648}"#, .add(.min)),
            (#"{"add":"2147483647"}"#, .add(.max)), (#"{"add":0}"#, .add(0)), (#"{"clear":true}"#, .clear(true)),
        ]
        for (json, change) in changes {
            #expect(message(#"{"tokens":["00"],"notification":{"badge":\#(json)}}"#) == "")
            #expect(try PushBadge(jsonString: json).change == change)
        }
    }

    @Test("No wrong value in any field needs the decoder's own words, and nothing of the value is told")
    func everyField() {
        let values = [
            "1", "-1", "1.5", "1e400", "\"§secret§\"", "true", "null", "[]", "[1]", "[null]", "[[]]", "{}",
            #"{"§":1}"#, "[\"§secret§\"]", #""\ud800""#, "nul", "01", "1.", "\"", "",
        ]
        func shapes(_ shape: JSONMessageShape, _ prefix: String, _ suffix: String, depth: Int) -> [(String, String)] {
            shape.fields.flatMap { field -> [(String, String)] in
                let key = prefix + "\"\(JSONMessageShape.jsonName(field.name))\":"
                let own = [(key, suffix)]
                guard depth < 3 else { return own }
                switch field.shape {
                case .message(let inner): return own + shapes(inner, key + "{", "}" + suffix, depth: depth + 1)
                case .list(.message(let inner)):
                    return own + shapes(inner, key + "[{", "}]" + suffix, depth: depth + 1)
                case .map(.message(let inner)):
                    return own + shapes(inner, key + #"{"de":{"#, "}}" + suffix, depth: depth + 1)
                default: return own
                }
            }
        }
        let bare = ["failure", "malformed", "illegal", "trailing", "invalid", "missing", "unrecognized"]
        for (before, after) in shapes(.sendRequest, "{", "}", depth: 0) {
            for value in values {
                let text = message(before + value + after)
                guard text.hasPrefix("not a belfry") else { continue }
                let words = text.dropFirst("not a belfry.push.v1.SendRequest in JSON: ".count)
                let isKnown = words.hasPrefix("'") || words.hasPrefix("no JSON at byte")
                #expect(isKnown, "\(before)\(value)\(after): \(text)")
                #expect(!bare.contains(String(words)) && !text.contains("§"))
                #expect(text.utf8.count < 1024)
            }
        }
    }

    @Test("Deep nesting and random bytes are faults, and nothing else")
    func hostile() {
        var state: UInt64 = 1
        func random(_ limit: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % limit
        }
        for opening in ["[", "{\"custom\":", "{\"notification\":{\"custom\":{\"a\":"] {
            #expect(message(String(repeating: opening, count: 2000)).hasPrefix("not a belfry"))
            #expect(message("{\"notification\":" + String(repeating: opening, count: 2000)).hasPrefix("not a belfry"))
        }
        let alphabet = Array("{}[]\",:\\u0etfn-1. ".utf8)
        for _ in 0..<2_000 {
            let bytes = (0..<random(40)).map { _ in alphabet[random(alphabet.count)] }
            _ = message(Array("{\"tokens\":".utf8) + bytes, as: .json)
            _ = message([0] + bytes, as: .protobuf)
        }
    }

    @Test("An envelope of CloudEvents' structured mode is told as such, in whichever order its attributes stand")
    func cloudEvents() {
        for text in [
            #"{"specversion":"1.0","type":"t","source":"s","id":"1","data":{"payloadJson":"{}"}}"#,
            #"{"id":"1","source":"s","data":{"payloadJson":"{}","tokens":["00ff"]},"specversion":"1.0"}"#,
        ] {
            #expect(message(text).contains("CloudEvents' structured mode; publish in binary mode"), "\(text)")
        }
        #expect(!message(#"{"id":"1","notification":{"specversion":"1.0"}}"#).contains("CloudEvents"))
    }

    // MARK: Frames

    @Test("Confluent's frame is taken off: with Protobuf the message indexes too, with JSON also without a header")
    func frames() throws {
        let request = PushSendRequest.with {
            $0.payloadJson = #"{"aps":{}}"#
            $0.packedTokens = Data(repeating: 7, count: 64)
        }
        let binary: [UInt8] = try request.serializedBytes()
        let json: [UInt8] = try request.jsonUTF8Bytes()
        let head: [UInt8] = [0, 0, 0, 1, 200]
        let cases: [([UInt8], RecordContentType)] = [
            (head + [0] + binary, .protobuf), (head + [2, 0] + binary, .protobuf),
            (head + [4, 2, 0] + binary, .protobuf), (head + json, .json), (head + json, .protobuf),
        ]
        for (bytes, type) in cases {
            let found = try bytes.withUnsafeBytes { value in
                let view = try SendRequestView(decoding: value, as: type)
                return (view.tokenCount, Array(view.payload))
            }
            #expect(found.0 == 2 && found.1 == Array(#"{"aps":{}}"#.utf8))
            let decoded = try bytes.withUnsafeBytes {
                try RequestDecoding.decode(PushSendRequest.self, from: $0, as: type)
            }
            #expect(decoded == request)
        }
    }

    @Test("A frame that is cut short, or has absurd message indexes, is a fault that names the frame")
    func brokenFrames() {
        let heads: [[UInt8]] = [
            [0], [0, 0, 0, 0], [0, 0, 0, 0, 1], [0, 0, 0, 0, 1, 1], [0, 0, 0, 0, 1, 0x80], [0, 0, 0, 0, 1, 100],
            [0, 0, 0, 0, 1, 4, 0],
        ]
        for bytes in heads {
            #expect(message(bytes, as: .protobuf).contains("Confluent"), "\(bytes)")
        }
    }
}
