import BelfryProducer
import BelfrySupport
import Foundation
import PushSchemas
import Testing

@testable import BelfryTools

@Suite("Orders to publish a notification in parts")
struct NotificationOrderTests {
    private static let goal = #"""
        {"alert": {"title": "Goal!", "body": "1:0"}, "sound": {},
         "localizations": {"de": {"title": "Tor!", "body": "1:0 für uns"}, "pt": {}}}
        """#

    @Test("A notification is read from JSON or from a file that holds it")
    func reading() throws {
        let expected = PushNotification.with {
            $0.alert.title = "Goal!"
            $0.alert.body = "1:0"
            $0.sound = PushSound()
            $0.localizations = ["de": .with { ($0.title, $0.body) = ("Tor!", "1:0 für uns") }, "pt": PushAlert()]
        }
        #expect(try OrderedContent.notification("\n " + Self.goal) == .notification(expected))
        let path = NSTemporaryDirectory() + "belfry-notification-\(UUID().uuidString)"
        try Data(Self.goal.utf8).write(to: URL(fileURLWithPath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        #expect(try OrderedContent.notification(path) == .notification(expected))
    }

    @Test(
        "A mistake in the JSON is told with the field's path, the finding and what is allowed",
        arguments: [
            (#"{"alert": {"titel": "x"}}"#, "'alert.titel' is no field; allowed: title, subtitle, body"),
            (#"{"localizations": {"de": "Tor"}}"#, "'localizations.de' is a text; an object is allowed: write {"),
            (#"{"shorten": 1}"#, "'shorten' is a number; true or false is allowed"),
            (#"{"alert": {}"#, "no JSON at byte 12"),
            (#"{"aps": {}}"#, "'aps' is no field"),
        ]
    )
    func wrongJSON(argument: String, told: String) {
        let error = #expect(throws: ToolError.self) { try OrderedContent.notification(argument) }
        #expect(error.map { "\($0)".hasPrefix("notification: ") && "\($0)".contains(told) } == true, "\(error as Any)")
    }

    @Test("A file that is not there, or empty, is named")
    func wrongFile() throws {
        let path = NSTemporaryDirectory() + "belfry-notification-\(UUID().uuidString)"
        let missing = #expect(throws: ToolError.self) { try OrderedContent.notification(path) }
        #expect(missing.map { "\($0)".contains("\(path): cannot be read") } == true)
        try Data().write(to: URL(fileURLWithPath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        let empty = #expect(throws: ToolError.self) { try OrderedContent.notification(path) }
        #expect(empty.map { "\($0)" } == "\(path): the file is empty")
    }

    @Test("All records have the notification and their tokens, in either form", arguments: RecordFormat.allCases)
    func records(format: RecordFormat) throws {
        var order = try order(Self.goal)
        order.format = format
        order.tokensPerRecord = 2
        let records = try records(of: order)
        #expect(records.map(\.tokenCount) == [2, 1])
        for record in records {
            let request =
                format == .json
                ? try PushSendRequest(jsonUTF8Bytes: record.value) : try PushSendRequest(serializedBytes: record.value)
            #expect(.notification(request.notification) == order.content)
            #expect(record.faults(by: order.validator).isEmpty)
        }
    }

    @Test("The workers' rules for notifications are told before anything is published, beside other mistakes")
    func wrongContent() throws {
        func told(_ notification: String, _ change: (inout PublishOrder) -> Void = { _ in }) throws -> [String] {
            var order = try order(notification)
            change(&order)
            do throws(ToolError) {
                _ = try order.checked()
                return []
            } catch {
                guard case .invalidInput(let lines) = error else { return ["\(error)"] }
                return lines
            }
        }
        #expect(try told(Self.goal).isEmpty)
        let alone = try told(#"{"localizations": {"de": {"body": "Tor"}}}"#)
        #expect(alone.count == 1)
        #expect(alone.allSatisfy { $0.hasPrefix("notification-invalid: 'notification.alert' is not set beside ") })
        let long = #"{"alert": {"body": "\#(String(repeating: "x", count: 300))"}}"#
        let both = try told(long) { $0.collapseID = String(repeating: "c", count: 65) }
        #expect(both.count == 2)
        let tooLong = "payload-invalid: 'notification.alert' leads to a payload of 320 bytes; 256 are allowed"
        #expect(both.contains { $0.hasPrefix(tooLong) })
        #expect(both.contains { $0.hasPrefix("collapse-id-invalid: ") })
        #expect(try told(long.dropLast() + #", "shorten": true}"#).isEmpty)
    }

    @Test("A dry run shows the payload of each language, the default one first, with its size and the limit")
    func preview() throws {
        let order = try order(Self.goal)
        var forecast = PublishForecast(topic: "t", partitions: .success(1))
        for record in try records(of: order) {
            forecast.add(record)
            forecast.judge(record, by: order.validator)
        }
        #expect(forecast.faults.isEmpty)
        #expect(
            forecast.text.split(separator: "\n").dropFirst().prefix(3) == [
                #"payload, default: 66 bytes of 256: {"aps":{"alert":{"title":"Goal!","body":"1:0"},"sound":"default"}}"#,
                #"payload, de: 74 bytes of 256: {"aps":{"alert":{"title":"Tor!","body":"1:0 für uns"},"sound":"default"}}"#,
                #"payload, pt: 27 bytes of 256: {"aps":{"sound":"default"}}"#,
            ]
        )
        let payload = #""payloads":[{"language":"default","bytes":66,"limit":256,"payload":"{\"aps\":{"#
        #expect(forecast.json.contains(payload))
    }

    @Test("Where the devices of a language would notice nothing, a dry run tells the priority that they get")
    func warning() throws {
        var order = try order(
            #"{"alert": {"body": "x"}, "localizations": {"pt": {}}, "contentAvailable": true}"#
        )
        order.priority = 10
        var forecast = PublishForecast(topic: "t", partitions: .success(1))
        for record in try records(of: order) { forecast.judge(record, by: order.validator) }
        let warnings = forecast.text.split(separator: "\n").filter { $0.contains("priority 10 became 5") }
        #expect(warnings.count == 1 && warnings[0].hasPrefix("payload, pt: "))
    }

    private func order(_ notification: String) throws -> PublishOrder {
        let tokens = (1...3).map { String(repeating: "0\($0)", count: 32) }
        return PublishOrder(
            bundleID: "a.b",
            tokens: .listed(tokens),
            content: try .notification(notification),
            requestID: "r"
        )
    }

    private func records(of order: PublishOrder) throws -> [OutgoingRecord] {
        let (template, tokens) = try order.checked()
        var batcher = try RequestBatcher(template)
        var records: [OutgoingRecord] = []
        try batcher.forEachRecord(of: tokens) { records.append($0) }
        return records
    }
}
