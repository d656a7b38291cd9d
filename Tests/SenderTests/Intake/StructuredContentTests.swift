import APNsProtocol
import BelfrySupport
import Foundation
import PushSchemas
import RequestRules
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

    private static func token(_ byte: UInt8, badge: UInt32? = nil) -> PushDeviceToken {
        .with {
            $0.raw = Data(repeating: byte, count: 32)
            if let badge { $0.badge = badge }
        }
    }

    private func find(_ locale: String, of index: Int, in batch: PreparedBatch) {
        var locale = locale
        locale.withUTF8 { batch.foundLanguage(UnsafeRawBufferPointer($0), of: index) }
    }

    private func payloads(_ batch: PreparedBatch) throws -> [String] {
        try contents(batch) { String(decoding: $0.payload, as: UTF8.self) }
    }

    /// The terms of a payload over HTTP/2.
    private static func terms(_ pushType: PushType, _ priority: ProviderPriority) -> DeliveryTerms {
        .http2(pushType: pushType, priority: priority, collapseID: [], isBroadcast: false)
    }

    private func terms(_ batch: PreparedBatch) throws -> [DeliveryTerms] { try contents(batch) { $0.terms } }

    /// By position, a value of what each notification is sent with.
    private func contents<Value>(
        _ batch: PreparedBatch,
        _ value: (NotificationContent) -> Value
    ) throws -> [Value] {
        let record = try #require(batch.records.first)
        func content(at index: Int) -> Value { value(batch.content(of: index, in: record)) }
        guard let rendered = record.rendered else { return record.notifications.map(content(at:)) }
        var found: [Int: Value] = [:]
        for portion in rendered.allPortions(checksums: batch.checksums[...]) {
            try rendered.begin(portion, into: batch.payloads)
            for position in portion.positions { found[position] = content(at: position) }
            rendered.end(portion, in: batch.payloads)
        }
        return found.sorted { $0.key < $1.key }.map(\.value)
    }

    private func portions(_ batch: PreparedBatch) -> [[Int]]? {
        batch.records.first?.rendered?.allPortions(checksums: batch.checksums[...]).map { Array($0.positions) }
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
        #expect(portions(batch) == [[1, 3], [0], [2]])
    }

    @Test("Records that carry the last one's notification have its payloads, and others their own")
    func repeatedNotification() throws {
        let bodies = ["Goal", "Goal", "Foul", "Goal", "Goal"]
        let fills: [(inout PushSendRequest) -> Void] = bodies.map { body in
            { $0.notification = PushNotification.with { $0.alert.body = body } }
        }
        let batch = try #require(try IntakeBench(.binary).takeTogether(fills))
        let payloads = batch.records.map { record in
            String(decoding: batch.content(of: record.notifications.lowerBound, in: record).payload, as: UTF8.self)
        }
        #expect(payloads == bodies.map { #"{"aps":{"alert":"\#($0)"}}"# })
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
        #expect(portions(batch) == [[2], [0, 1], [3]])
    }

    @Test("A token whose own values make the payload too long is alone a dead letter")
    func tooLongOverride() throws {
        let long = String(repeating: "x", count: 4096)
        let batch = try #require(try self.batch(IntakeBench(), [2: { $0.locArgs = [long] }]) { $0.alert.locKey = "k" })
        let record = try #require(batch.records.first)
        let rendered = try #require(record.rendered)
        var faults: [[Int]: String] = [:]
        for portion in rendered.allPortions(checksums: batch.checksums[...]) {
            do throws(RecordRefusal) {
                try rendered.begin(portion, into: batch.payloads)
            } catch {
                faults[Array(portion.positions)] = error.reason
            }
            rendered.end(portion, in: batch.payloads)
        }
        #expect(faults == [[1]: "payload-invalid"])
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

    @Test("A notification that only wakes the app goes with priority 5, over both transports")
    func priority() throws {
        for priority in [0, 10] as [UInt32] {
            let binary = try batch(IntakeBench(.binary), priority: priority) { $0.contentAvailable = true }
            #expect(binary?.records.first?.payload.terms == .binary(.powerSaving))
            let http2 = try batch(IntakeBench(), priority: priority) { $0.contentAvailable = true }
            #expect(http2?.records.first?.payload.terms == Self.terms(.background, .powerSaving))
        }
    }

    @Test("Push type and priority are those of each payload, over both transports")
    func termsByPayload() throws {
        for priority in [0, 10] as [UInt32] {
            func batch(_ transport: EnvironmentSettings.Transport) throws -> PreparedBatch {
                let batch = try #require(
                    try self.batch(IntakeBench(transport), [3: { $0.badge = 1 }], priority: priority) {
                        $0.contentAvailable = true
                        $0.localizations["de"] = PushAlert.with { $0.body = "Tor" }
                    }
                )
                find("de", of: 1, in: batch)
                return batch
            }
            let priorities = [.powerSaving, .immediate, .immediate, .powerSaving] as [NotificationPriority]
            #expect(try terms(batch(.binary)) == priorities.map(DeliveryTerms.binary))
            let (wakes, shows) = (Self.terms(.background, .powerSaving), Self.terms(.alert, .immediate))
            #expect(try terms(batch(.http2)) == [wakes, shows, shows, wakes])
        }
    }

    @Test("A token that stands in a record several times keeps its order, whatever its payloads")
    func order() throws {
        let batch = try #require(
            try IntakeBench().take { request in
                request.notification.alert.body = "Hi"
                request.packedTokens = Data()
                request.tokens = [Self.token(1, badge: 5), Self.token(1), Self.token(2), Self.token(1, badge: 6)]
            }
        )
        #expect(portions(batch) == [[2], [0], [1], [3]])
    }

    @Test("The order of a token's notifications reaches its connection")
    func orderOnTheWay() throws {
        let bench = ShardBench()
        defer { bench.shard.leave() }
        bench.assign(0)
        let request = PushSendRequest.with { request in
            request.notification.alert.body = "Hi"
            request.requestID = "r"
            request.tokens = [Self.token(1, badge: 5), Self.token(1)]
        }
        try bench.bring([(ShardBench.news, request)])
        bench.wait(milliseconds: 2000)
        let sent = bench.gateway.payloads.map { String(decoding: $0, as: UTF8.self) }
        #expect(sent == [#"{"aps":{"alert":"Hi","badge":5}}"#, #"{"aps":{"alert":"Hi"}}"#])
    }

    @Test("The payloads of all languages count towards the memory of the record, and those of refused records go")
    func memory() throws {
        let languages = 200
        func fill(_ request: inout PushSendRequest) {
            request.notification.alert.body = "Hi"
            request.notification.custom = ["k": .init(stringValue: String(repeating: "x", count: 2000))]
            for number in 0..<languages {
                request.notification.localizations["x\(number)"] = PushAlert.with { $0.body = "b" }
            }
        }
        func refused(_ request: inout PushSendRequest) {
            fill(&request)
            request.notification.localizations["z"] = PushAlert.with { $0.body = String(repeating: "x", count: 4096) }
        }
        let bench = IntakeBench()
        let batch = try #require(try bench.take(fill))
        #expect(batch.payloads.end > languages * 2000)
        #expect(bench.ledgerBytes >= batch.payloads.end + 2 * 2000, "beside them value and frame")
        let other = try #require(try IntakeBench().takeTogether([refused, fill, refused]))
        #expect(other.payloads.end == batch.payloads.end)
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

extension RenderedPayloads {
    fileprivate func allPortions(checksums: ArraySlice<UInt32>) -> [PortionPlan.Portion] {
        var plan = plan()
        while !plan.isComplete { #expect(goOn(&plan, most: 3) > 0) }
        return plan.portions(checksums: checksums, most: ShardLimits.routedAtOnce)
    }
}
