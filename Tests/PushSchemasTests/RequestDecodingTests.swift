import Foundation
import SwiftProtobuf
import Testing

@testable import PushSchemas

@Suite("Decoding of record values")
struct RequestDecodingTests {
    @Test(
        "The header content-type selects JSON, in quotation marks or without; everything else is Protobuf",
        arguments: [
            ("application/json", .json), ("Application/JSON", .json), ("application/json; charset=utf-8", .json),
            ("application/json ;x", .json), ("application/jsonx", .protobuf), ("application/jso", .protobuf),
            ("application/x-protobuf", .protobuf), ("", .protobuf), ("text/json", .protobuf),
            (#""application/json""#, .json), (#""application/json;charset=UTF-8""#, .json),
            (#""application/json"#, .protobuf), ("\"", .protobuf), ("\"\"", .protobuf),
            ("application/cloudevents+json; charset=UTF-8", .json), ("application/cloudevents", .protobuf),
            (nil, .protobuf),
        ] as [(String?, RecordContentType)]
    )
    func contentType(header: String?, expected: RecordContentType) {
        guard let header else {
            #expect(RecordContentType(header: nil) == expected)
            return
        }
        #expect(Array(header.utf8).withUnsafeBytes { RecordContentType(header: $0) } == expected)
    }

    @Test(
        "The header content-type counts before contentType, as Spring writes it, and no other name does",
        arguments: [
            (["content-type"], "content-type"), (["contentType"], "contentType"),
            (["contentType", "content-type"], "content-type"), (["Content-Type", "ce_type"], nil),
        ] as [([String], String?)]
    )
    func headerNames(present: [String], expected: String?) {
        var asked = ""
        let found = Array("application/json".utf8).withUnsafeBytes { value in
            RecordContentType.header { name in
                asked = name
                return present.contains(name) ? value : nil
            } != nil
        }
        #expect((found ? asked : nil) == expected)
    }

    @Test("What we publish as content type selects the same form again")
    func headerValues() {
        for type in [RecordContentType.json, .protobuf] {
            #expect(Array(type.headerValue.utf8).withUnsafeBytes { RecordContentType(header: $0) } == type)
        }
    }

    @Test("An empty value is undecodable in both forms, although it would be an empty message")
    func emptyValue() {
        for type in [RecordContentType.json, .protobuf] {
            #expect(fault(of: [], as: type) == .valueEmpty)
        }
    }

    @Test("A registration is decoded from JSON as a shell script would write it")
    func registrationFromJSON() throws {
        let json =
            #"{"token":{"hex":"00ff"},"registeredAt":"1700000000","locale":"pt-BR","#
            + #""kind":"REGISTRATION_KIND_REGISTER"}"#
        let registration: PushRegistration = try Array(json.utf8).withUnsafeBytes {
            try RequestDecoding.decode(from: $0, as: .json)
        }
        #expect(try registration.token.bytes() == [0x00, 0xFF])
        #expect(registration.registeredAt == 1_700_000_000)
        #expect(registration.locale == "pt-BR")
        #expect(registration.kind == .register)
    }

    @Test("The names of the proto file are accepted in JSON too")
    func protoNamesInJSON() throws {
        let json = #"{"token":{"hex":"00"},"registered_at":5,"time_zone":"Europe/Berlin"}"#
        let registration: PushRegistration = try Array(json.utf8).withUnsafeBytes {
            try RequestDecoding.decode(from: $0, as: .json)
        }
        #expect(registration.registeredAt == 5)
        #expect(registration.timeZone == "Europe/Berlin")
    }

    @Test("An unknown field is refused in JSON and ignored in binary form")
    func unknownFields() throws {
        #expect(fault(of: Array(#"{"tokn":{"hex":"00"}}"#.utf8), as: .json) == .valueUndecodable)
        let binary: [UInt8] = try PushRegistration.with { $0.locale = "en" }.serializedBytes()
        let extended = binary + [0xF8, 0x7F, 0x01]
        let registration: PushRegistration = try extended.withUnsafeBytes {
            try RequestDecoding.decode(from: $0, as: .protobuf)
        }
        #expect(registration.locale == "en")
    }

    @Test("Text that is not JSON is undecodable, and the error says what was expected")
    func notJSON() {
        for text in ["{", "null", "[]", "{}x", "hello", "{\"token\":1}", "\u{FEFF}{}"] {
            #expect(fault(of: Array(text.utf8), as: .json) == .valueUndecodable, "\(text)")
        }
        let message = error(of: Array("{".utf8), as: .json)?.message ?? ""
        #expect(message.contains("belfry.push.v1.Registration"))
        #expect(message.contains("JSON"))
    }

    @Test("A token is given raw or as hexadecimal digits; nothing else is one")
    func tokens() throws {
        #expect(try PushDeviceToken.with { $0.raw = Data([1, 2]) }.bytes() == [1, 2])
        #expect(try PushDeviceToken.with { $0.hex = "0aFF" }.bytes() == [0x0A, 0xFF])
        #expect(tokenFault { _ in } == .tokenMissing)
        #expect(tokenFault { $0.raw = Data() } == .tokenMissing)
        #expect(tokenFault { $0.hex = "" } == .tokenMissing)
        for text in ["0", "0g", "<0a>", "0a 0b", "0x0a", "äö"] {
            #expect(tokenFault { $0.hex = text } == .tokenNotHexadecimal, "\(text)")
        }
    }

    private func tokenFault(_ populate: (inout PushDeviceToken) -> Void) -> RecordFault? {
        do throws(RecordError) {
            _ = try PushDeviceToken.with(populate).bytes()
            return nil
        } catch {
            return error.fault
        }
    }

    private func error(of value: [UInt8], as type: RecordContentType) -> RecordError? {
        do {
            _ = try value.withUnsafeBytes { try RequestDecoding.decode(PushRegistration.self, from: $0, as: type) }
            return nil
        } catch {
            return error as? RecordError
        }
    }

    private func fault(of value: [UInt8], as type: RecordContentType) -> RecordFault? {
        error(of: value, as: type)?.fault
    }
}
