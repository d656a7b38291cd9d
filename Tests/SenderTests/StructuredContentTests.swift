import BelfrySupport
import Foundation
import PushSchemas
import Testing

@testable import Sender

/// Structured notifications from the record to the payload of each token.
@Suite("Notifications in parts")
struct StructuredContentTests {
    private static let tokens: [UInt8] = [1, 2, 3, 4]

    private func batch(
        _ bench: IntakeBench,
        _ overrides: [UInt8: (inout PushDeviceToken) -> Void] = [:],
        priority: UInt32 = 0,
        _ fill: (inout PushNotification) -> Void
    ) throws -> PreparedBatch? {
        try bench.take { request in
            request.notification = PushNotification.with(fill)
            request.priority = priority
            request.packedTokens = Data()
            request.tokens = Self.tokens.map { token in
                PushDeviceToken.with {
                    $0.raw = Data(repeating: token, count: 32)
                    overrides[token]?(&$0)
                }
            }
        }
    }

    private func find(_ locale: String, of index: Int, in batch: PreparedBatch) {
        var locale = locale
        locale.withUTF8 { batch.foundLanguage(UnsafeRawBufferPointer($0), of: index) }
    }

    private func payloads(_ batch: PreparedBatch) throws -> [String] {
        let record = try #require(batch.records.first)
        let faults = record.rendered?.renderOverrides(into: batch.payloads) ?? []
        #expect(faults.isEmpty)
        return record.notifications.map { String(decoding: batch.payload(of: $0, in: record), as: UTF8.self) }
    }

    @Test("In one language without values of tokens' own there is one payload, and no language is looked up")
    func oneLanguage() throws {
        for transport in [.binary, .http2] as [EnvironmentSettings.Transport] {
            let batch = try #require(try self.batch(IntakeBench(transport)) { $0.alert.body = "Hi" })
            #expect(batch.records.first?.rendered == nil && !batch.hasLanguages)
            #expect(try payloads(batch) == Array(repeating: #"{"aps":{"alert":"Hi"}}"#, count: 4))
        }
    }

    @Test("A token has the language of its own locale, else of the registered one, else the default")
    func languages() throws {
        let overrides: [UInt8: (inout PushDeviceToken) -> Void] = [3: { $0.locale = "PT-br" }]
        let batch = try #require(
            try self.batch(IntakeBench(), overrides) {
                $0.alert.body = "Goal"
                $0.localizations["de"] = PushAlert.with { $0.body = "Tor" }
                $0.localizations["pt"] = PushAlert.with { $0.body = "Gol" }
            }
        )
        let record = try #require(batch.records.first)
        #expect(batch.hasLanguages && batch.notificationsWantingLanguage(in: record) == [0, 1, 3])
        find("de-AT", of: 0, in: batch)
        find("de", of: 2, in: batch)
        find("fr", of: 3, in: batch)
        let expected = ["Tor", "Goal", "Gol", "Goal"].map { #"{"aps":{"alert":"\#($0)"}}"# }
        #expect(try payloads(batch) == expected)
        let rendered = try #require(record.rendered)
        #expect(rendered.byPlace.map(\.positions) == [[1, 3], [0], [2]])
    }

    @Test("Tokens with the same values of their own and the same language share a payload")
    func overrides() throws {
        let own: (inout PushDeviceToken) -> Void = { $0.badge = 7 }
        let batch = try #require(
            try self.batch(IntakeBench(), [1: own, 2: own, 4: { $0.locArgs = ["x"] }]) {
                $0.alert.locKey = "k"
                $0.localizations["de"] = PushAlert.with { $0.locKey = "kd" }
                $0.badge.set = 1
            }
        )
        for index in 0..<2 { find("de", of: index, in: batch) }
        let expected = [
            #"{"aps":{"alert":{"loc-key":"kd"},"badge":7}}"#, #"{"aps":{"alert":{"loc-key":"kd"},"badge":7}}"#,
            #"{"aps":{"alert":{"loc-key":"k"},"badge":1}}"#,
            #"{"aps":{"alert":{"loc-key":"k","loc-args":["x"]},"badge":1}}"#,
        ]
        #expect(try payloads(batch) == expected)
        #expect(batch.records.first?.rendered?.byPlace.map(\.positions) == [[2], [0, 1], [3]])
    }

    @Test("A token whose own values make the payload too long is alone a dead letter")
    func tooLongOverride() throws {
        let long = String(repeating: "x", count: 4096)
        let batch = try #require(try self.batch(IntakeBench(), [2: { $0.locArgs = [long] }]) { $0.alert.locKey = "k" })
        let record = try #require(batch.records.first)
        let faults = record.rendered?.renderOverrides(into: batch.payloads) ?? []
        #expect(faults.map(\.position) == [1] && faults.first?.fault.reason == "payload-invalid")
    }

    @Test("What is wrong with a notification is a dead letter that names the field")
    func faults() throws {
        let bench = IntakeBench()
        #expect(try batch(bench) { $0.relevanceScore = 2 } == nil)
        #expect(try batch(bench) { $0.alert.body = String(repeating: "x", count: 4100) } == nil)
        #expect(try batch(bench, priority: 10) { $0.category = "c" } == nil)
        #expect(bench.letters.count == 3)
        #expect(bench.letters.first == "notification-invalid: 'notification.relevance_score' is 2.0; 0 to 1 is allowed")
        #expect(bench.letters.dropFirst().first?.hasPrefix("payload-invalid: 'notification.alert' leads to") == true)
        #expect(bench.letters.last?.hasPrefix("notification-invalid: 'notification.alert' is not set") == true)
    }

    @Test("What only wakes the app goes with priority 5, over both transports")
    func priority() throws {
        for priority in [0, 10] as [UInt32] {
            let binary = try self.batch(IntakeBench(.binary), priority: priority) { $0.contentAvailable = true }
            #expect(binary?.records.first?.priority == .powerSaving)
            let fields = try self.batch(IntakeBench(), priority: priority) { $0.contentAvailable = true }
            #expect(fields?.records.first?.provider?.priority == .powerSaving)
            #expect(fields?.records.first?.provider?.pushType == .background)
        }
    }

    @Test("The outcome of what was sent with another priority says so", arguments: [5, 10] as [UInt32])
    func warning(priority: UInt32) throws {
        let bench = ShardBench()
        defer { bench.shard.leave() }
        bench.assign(0)
        let request = PushSendRequest.with {
            $0.notification = PushNotification.with { $0.contentAvailable = true }
            $0.priority = priority
            $0.packedTokens = Data(repeating: 1, count: 32)
        }
        try bench.bring([(ShardBench.news, request)])
        bench.wait(milliseconds: 2000)
        let outcomes = try bench.outcomes()
        #expect(outcomes.count == 1)
        #expect(outcomes.first?.warning.isEmpty == (priority == 5))
    }
}
