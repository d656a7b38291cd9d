import Foundation
import TestSupport
import Testing

@testable import PushSchemas

/// The shapes of the JSON mapping against the files of the schema, which are read as text.
@Suite struct JSONShapeTests {
    private static let folder = Repository.top.appending(path: "Schemas/belfry/push/v1")

    /// The fields of a message: name and type as written, `repeated` and `map` included.
    private static func fields(of message: String) throws -> [String: String] {
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        for file in files {
            let text = try String(contentsOf: file, encoding: .utf8)
            var fields: [String: String] = [:]
            var depth = 0
            for line in text.split(separator: "\n").map({ $0.trimmingCharacters(in: .whitespaces) })
            where !line.hasPrefix("//") {
                if line == "message \(message) {" {
                    depth = 1
                } else if depth > 0, line.hasSuffix("{") {
                    depth += 1
                } else if depth > 0, line.hasPrefix("}") {
                    depth -= 1
                } else if depth > 0, let equals = line.range(of: " = ") {
                    let words = line[..<equals.lowerBound].split(separator: " ").map(String.init)
                    fields[words[words.count - 1]] = words.dropLast().filter { $0 != "optional" }.joined(separator: " ")
                }
            }
            if !fields.isEmpty { return fields }
        }
        return [:]
    }

    private static func type(of shape: JSONShape) -> String {
        switch shape {
        case .text: "string"
        case .bytes: "bytes"
        case .number32: "uint32"
        case .signed32: "sint32"
        case .number64: "int64"
        case .fraction: "double"
        case .flag: "bool"
        case .choice(let name, _): name
        case .message(let message): message.name
        case .list(let element): "repeated " + type(of: element)
        case .map(let element): "map<string, \(type(of: element))>"
        case .object: "google.protobuf.Struct"
        }
    }

    @Test(
        "A shape has the fields of its message, with their types",
        arguments: [
            JSONMessageShape.sendRequest, .registration, .feedbackTuple, .deviceToken, .notification, .alert, .badge,
            .sound, .liveActivity,
        ]
    )
    func fields(shape: JSONMessageShape) throws {
        let shown = Dictionary(uniqueKeysWithValues: shape.fields.map { ($0.name, Self.type(of: $0.shape)) })
        #expect(try shown == Self.fields(of: shape.name))
        #expect(shape.alternatives.allSatisfy { shape.field($0) != nil })
    }

    @Test("Kinds of registrations are those of the schema")
    func kinds() throws {
        guard case .choice(_, let names)? = JSONMessageShape.registration.field("kind")?.shape else {
            Issue.record("kind is a choice")
            return
        }
        for (number, name) in names.enumerated() {
            let json = #"{"kind":"\#(name)"}"#
            #expect(try PushRegistration(jsonString: json).kind.rawValue == number)
        }
        #expect(names.count == PushRegistrationKind.allCases.count)
    }

    @Test("Reports are those of the schema")
    func reports() throws {
        guard case .choice(_, let names)? = JSONMessageShape.sendRequest.field("report")?.shape else {
            Issue.record("report is a choice")
            return
        }
        for (number, name) in names.enumerated() {
            #expect(try PushSendRequest(jsonString: #"{"report":"\#(name)"}"#).report.rawValue == number)
        }
        #expect(names.count == PushReport.allCases.count)
        #expect(RequestReport.allCases.map { Int($0.rawValue) } == Array(1..<names.count))
        #expect(names.count == PushRegistrationKind.allCases.count)
    }

    @Test("A field has the name of the schema and that of the JSON mapping")
    func names() {
        #expect(JSONMessageShape.jsonName("payload_json") == "payloadJson")
        #expect(JSONMessageShape.jsonName("collapse_id") == "collapseId")
        #expect(JSONMessageShape.sendRequest.field("payloadJson")?.name == "payload_json")
        #expect(JSONMessageShape.sendRequest.field("payload_json")?.name == "payload_json")
        #expect(JSONMessageShape.sendRequest.field("payloadJSON") == nil)
    }
}
