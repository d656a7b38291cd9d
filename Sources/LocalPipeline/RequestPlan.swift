import Foundation
import PushSchemas
import SwiftProtobuf
import Workbench

/// A record to publish, and how many notifications it is in the books.
public struct PlannedRecord: Sendable {
    public var key: String
    public var value: [UInt8]
    public var isJSON: Bool
    /// Tokens of a decodable record, 1 of an undecodable one.
    public var notifications: Int
    /// Further headers.
    public var headers: [(String, [UInt8])]
    /// The tokens of a notification in parts, to whose badges it adds 1; empty for every other record.
    public var counted: [[UInt8]]

    public init(
        key: String,
        value: [UInt8],
        isJSON: Bool,
        notifications: Int,
        headers: [(String, [UInt8])] = [],
        counted: [[UInt8]] = []
    ) {
        self.key = key
        self.value = value
        self.isJSON = isJSON
        self.notifications = notifications
        self.headers = headers
        self.counted = counted
    }
}

/// Makes the records that demo and tests publish: good ones in both forms, and a few of every kind of bad one.
///
/// Seeded: the same seed makes the same records. Every payload carries a custom key `n` that no other record has, so
/// that the sandbox can tell a notification sent twice from two notifications.
public struct RequestPlan {
    /// Subject of the records: a bundle and its tokens.
    public struct Topic: Sendable {
        public var bundleID: String
        /// Of devices that have the app.
        public var living: [[UInt8]]
        /// Of devices that lost the app.
        public var uninstalled: [[UInt8]]
        /// Good records, and those of wrong tokens, are notifications in parts: with a text for each
        /// ``PlannedLanguage``, and 1 to add to the badge.
        public var isLocalized: Bool

        public init(bundleID: String, living: [[UInt8]], uninstalled: [[UInt8]], isLocalized: Bool = false) {
            self.bundleID = bundleID
            self.living = living
            self.uninstalled = uninstalled
            self.isLocalized = isLocalized
        }
    }

    /// Keys that each bundle is spread over.
    public static let spread: UInt32 = 4

    private var random: SeededGenerator
    private var nextNumber: Int
    private let now: Int64

    /// - Parameters:
    ///   - firstNumber: of the payload key `n`.
    ///   - now: UNIX seconds.
    public init(seed: UInt64, firstNumber: Int, now: Int64) {
        random = SeededGenerator(seed: seed)
        nextNumber = firstNumber
        self.now = now
    }

    /// Records of good tokens with 1 … 39 tokens each, alternately in JSON and Protobuf, until `count` notifications
    /// are in them. Spread over the bundle's shards: a record holds tokens of one shard only. With as many
    /// notifications as tokens each token gets one.
    public mutating func good(_ count: Int, of topic: Topic, from tokens: [[UInt8]]) -> [PlannedRecord] {
        var shards = [[[UInt8]]](repeating: [], count: Int(Self.spread))
        for token in tokens {
            shards[Int(token.withUnsafeBytes { RecordKey.shard(of: $0, spread: Self.spread) })].append(token)
        }
        var records: [PlannedRecord] = []
        for (shard, members) in shards.enumerated() where !members.isEmpty {
            // In proportion to the shard's share; the last takes what rounding left.
            let isLast = shard == shards.count - 1
            let planned = records.reduce(0) { $0 + $1.notifications }
            var left = isLast ? count - planned : count * members.count / tokens.count
            var cursor = 0
            while left > 0 {
                let size = min(left, random.pick(1...39), members.count)
                let chosen = (0..<size).map { members[(cursor + $0) % members.count] }
                cursor = (cursor + size) % members.count
                records.append(
                    record(topic, "#\(shard)", chosen, isJSON: records.count % 2 == 0)
                )
                left -= size
            }
        }
        return records
    }

    /// Tokens that no push service minted, each alone in its record.
    public mutating func invalidTokens(_ count: Int, of topic: Topic) -> [PlannedRecord] {
        (0..<count).map { _ in record(topic, "", [randomToken()], isJSON: false) }
    }

    /// Tokens of `other` sent under `topic`.
    public mutating func foreignTokens(_ count: Int, of topic: Topic, from other: Topic) -> [PlannedRecord] {
        (0..<count).map { index in record(topic, "", [other.living[index]], isJSON: true) }
    }

    /// One of each kind that is a dead letter, or expired.
    public mutating func bad(of topic: Topic) -> [PlannedRecord] {
        let token = topic.living[0]
        // Too long for every transport.
        let long = String(repeating: "x", count: 6000)
        let faulty: [PushSendRequest] = [
            request([token], payload: #"{"aps":{"alert":"\#(long)"}}"#),
            request([token], payload: #"{"aps":{"badge":5,}}"#),
            request([token], payload: #"{"alert":"no aps"}"#),
            request([topic.living[1], Array(token.prefix(10)), Array(repeating: 7, count: 200)], payload: nil),
            .with {
                $0 = request([token, topic.living[2]], payload: nil)
                $0.expiration = now - 3600
            },
        ]
        let records = faulty.map { encode(topic.bundleID, $0, isJSON: false) }
        return records + [
            PlannedRecord(key: topic.bundleID, value: Array("not a request".utf8), isJSON: true, notifications: 1),
            PlannedRecord(key: topic.bundleID, value: [], isJSON: false, notifications: 1),
            encode("#3", request([token], payload: nil), isJSON: false),
        ]
    }

    /// Puts records into a seeded random order.
    public mutating func shuffle(_ records: inout [PlannedRecord]) {
        records.shuffle(using: &random)
    }

    /// The number in the payload of the record made last.
    public var lastNumber: Int { nextNumber }

    // MARK: Making

    /// - Parameter shard: what follows the bundle in the key.
    private mutating func record(
        _ topic: Topic,
        _ shard: String,
        _ tokens: [[UInt8]],
        isJSON: Bool
    ) -> PlannedRecord {
        var request = request(tokens, payload: nil)
        if topic.isLocalized { request.notification = localized() }
        var record = encode(topic.bundleID + shard, request, isJSON: isJSON)
        if topic.isLocalized { record.counted = tokens }
        return record
    }

    /// The notification in parts with the number of the request made last.
    private func localized() -> PushNotification {
        var texts = Dictionary(uniqueKeysWithValues: PlannedLanguage.allCases.map { ($0.rawValue, $0.title) })
        texts["default"] = PlannedLanguage.otherTitle
        var notification = PushNotification()
        notification.localizations = texts.mapValues { title in
            .with {
                $0.title = title
                $0.body = "\(nextNumber)"
            }
        }
        notification.badge.add = 1
        notification.custom.fields["n"] = Google_Protobuf_Value(numberValue: Double(nextNumber))
        return notification
    }

    private mutating func request(_ tokens: [[UInt8]], payload: String?) -> PushSendRequest {
        nextNumber += 1
        var request = PushSendRequest()
        request.requestID = "demo-\(nextNumber)"
        request.payloadJson =
            payload ?? #"{ "aps": { "alert": "Edition \#(nextNumber)", "badge": 1 }, "n": \#(nextNumber) }"#
        request.expiration = now + 3600
        if tokens.allSatisfy({ $0.count == SendRequestView.packedTokenBytes }), nextNumber % 4 > 0 {
            request.packedTokens = Data(tokens.joined())
        } else {
            request.tokens = tokens.map { token in .with { $0.raw = Data(token) } }
        }
        return request
    }

    private func encode(_ key: String, _ request: PushSendRequest, isJSON: Bool) -> PlannedRecord {
        let tokens = max(request.tokens.count, request.packedTokens.count / SendRequestView.packedTokenBytes)
        let value: [UInt8]? = isJSON ? try? request.jsonUTF8Bytes() : try? request.serializedBytes()
        return PlannedRecord(key: key, value: value ?? [], isJSON: isJSON, notifications: tokens)
    }

    private mutating func randomToken() -> [UInt8] {
        (0..<32).map { _ in UInt8(truncatingIfNeeded: random.pick(0...255)) }
    }
}
