import Foundation
import LocalPipeline
import PushSchemas
import Testing

extension IntegrationTests {
    struct BadInputTests {
        private static let spread: UInt32 = 4

        /// A record that is wrong, and what must become of it.
        private struct Case {
            var name: String
            var record: PlannedRecord
            var reason: String
            /// The tokens at fault; nil: the whole record is.
            var faultyTokens: [UInt32]?
        }

        @Test(
            "Each bad record is one dead letter with its reason and place, value unchanged; good ones are not disturbed"
        )
        func deadLetters() async throws {
            try await withPipeline { options in
                // One partition: any harm of a bad record to its successors would show.
                options.partitions = 1
                options.configuration = "apps: {\(news): {spread: \(Self.spread)}}"
            } _: { pipeline, kafka in
                let follower = try TopicFollower(
                    brokers: pipeline.brokers,
                    topics: ["push.dead-letters", "push.outcomes"]
                )
                defer { follower.close() }
                let worker = try pipeline.startWorker()
                var records = Records(tokens: try pipeline.tokens(of: news, first: 0, count: 100))
                let cases = try Self.cases(&records)
                let good = Self.tokens(of: records, inShard: 1)
                var published: [PlannedRecord] = []
                for bad in cases {
                    published.append(try records.record(key: "\(news)#1", to: good))
                    published.append(bad.record)
                }
                published.append(try records.record(key: "\(news)#1", to: good))
                try kafka.publish(published)
                try kafka.waitForOutcomes()
                let expectedLetters = cases.count
                #expect(worker.terminate() == 0)
                try kafka.wait(for: "dead letters and outcomes") {
                    follower.poll()
                    return follower.messages.count >= expectedLetters + kafka.books.published
                }

                for (index, bad) in cases.enumerated() {
                    try Self.check(bad, at: kafka.places[index * 2 + 1], in: follower)
                }
                #expect(follower.messages.count == expectedLetters + kafka.books.published, "one of each, no more")
                let accepted = kafka.books.published - kafka.books.count(.deadLettered)
                let gateway = try await pipeline.sandbox.stats()
                #expect(kafka.books.claimed == accepted)
                #expect(gateway.accepted == accepted)
                #expect(gateway.distinct == accepted)
                #expect(gateway.rejected.isEmpty, "nothing bad reaches the gateway")
            }
        }

        @Test("Records of a bundle without certificate wait and harm no other; given up, each becomes one dead letter")
        func noCertificate() async throws {
            try await withPipeline { options in
                options.partitions = 1
                options.worker = String(fastWorker.dropLast()) + ", certificate-grace: 5s}"
            } _: { pipeline, kafka in
                let follower = try TopicFollower(brokers: pipeline.brokers, topics: ["push.dead-letters"])
                defer { follower.close() }
                let worker = try pipeline.startWorker()
                var records = Records(tokens: try pipeline.tokens(of: news, first: 0, count: 3))
                let waiting = try (0..<4).map { _ in try records.record(key: "com.example.nobody", to: records.tokens) }
                try kafka.publish(waiting + [try records.record(to: records.tokens)])
                try kafka.wait(for: "the other bundle") { kafka.books.claimed == 3 }
                #expect(kafka.books.missing == 12)
                try worker.waitForLogLine(with: "certificate missing", "com.example.nobody", within: patience)

                try kafka.waitForOutcomes()
                #expect(kafka.books.count(.deadLettered) == 12)
                #expect(worker.terminate() == 0)
                try kafka.wait(for: "dead letters") {
                    follower.poll()
                    return follower.messages.count >= 4
                }
                #expect(follower.messages.map(\.value) == waiting.map(\.value))
                #expect(follower.messages.allSatisfy { $0.headers["reason"] == "bundle-without-certificate" })
                #expect(follower.messages.allSatisfy { $0.headers["token-indices"] == nil })
            }
        }

        /// Two tokens of one shard.
        private static func tokens(of records: Records, inShard shard: UInt32) -> [[UInt8]] {
            Array(
                records.tokens.filter { $0.withUnsafeBytes { RecordKey.shard(of: $0, spread: spread) } == shard }[..<2]
            )
        }

        private static func cases(_ records: inout Records) throws -> [Case] {
            let key = "\(news)#1"
            let good = tokens(of: records, inShard: 1)
            let stray = tokens(of: records, inShard: 2)[0]
            // 257 bytes without insignificant white space.
            let long = #"{"aps":{"alert":""# + String(repeating: "x", count: 257 - 20) + #""}}"#
            precondition(long.utf8.count == 257)
            let plain: [(String, PlannedRecord, String)] = [
                ("undecodable", raw(key, Array("no request".utf8)), "value-undecodable"),
                ("undecodable JSON", raw(key, Array(#"{"tokens":"#.utf8), isJSON: true), "value-undecodable"),
                ("empty value", raw(key, []), "value-empty"),
                ("3 MB", raw(key, [UInt8](repeating: 0x0A, count: 3_000_000)), "value-too-large"),
                ("no token", raw(key, try records.request([]).serializedBytes()), "tokens-missing"),
                ("empty key", try records.record(key: "", to: good), "key-missing"),
                ("key without bundle", try records.record(key: "#1", to: good), "key-without-bundle"),
                ("257 bytes", try records.record(key: key, to: good) { $0.payloadJson = long }, "payload-invalid"),
                (
                    "trailing comma",
                    try records.record(key: key, to: good) { $0.payloadJson = #"{"aps":{"badge":5,}}"# },
                    "payload-invalid"
                ),
                (
                    "invalid UTF-8",
                    try records.record(key: key, to: good) {
                        $0.payload = Data(#"{"aps":{"alert":""#.utf8) + [0xC3, 0x28] + Data(#""}}"#.utf8)
                    },
                    "payload-invalid"
                ),
            ]
            let short = [UInt8](repeating: 7, count: 10)
            let tooLong = [UInt8](repeating: 7, count: 200)
            return plain.map { Case(name: $0.0, record: $0.1, reason: $0.2) } + [
                Case(
                    name: "10-byte token",
                    record: try records.record(key: key, to: [good[0], short, good[1]]),
                    reason: "token-length",
                    faultyTokens: [1]
                ),
                Case(
                    name: "200-byte token",
                    record: try records.record(key: key, to: [tooLong, good[0]]),
                    reason: "token-length",
                    faultyTokens: [0]
                ),
                Case(
                    name: "tokens outside the key's shard",
                    record: try records.record(key: key, to: [good[0], stray, good[1], stray], asJSON: true),
                    reason: "token-outside-shard",
                    faultyTokens: [1, 3]
                ),
            ]
        }

        private static func raw(_ key: String, _ value: [UInt8], isJSON: Bool = false) -> PlannedRecord {
            PlannedRecord(key: key, value: value, isJSON: isJSON, notifications: 1)
        }

        private static func check(_ bad: Case, at place: PipelineClient.Place, in follower: TopicFollower) throws {
            let letters = follower.messages.filter {
                $0.topic == "push.dead-letters" && $0.headers["source-offset"] == "\(place.offset)"
            }
            let indices = bad.faultyTokens.map { $0.map(String.init).joined(separator: ",") }
            #expect(letters.map { $0.headers["token-indices"] } == [indices], "\(bad.name)")
            for letter in letters {
                #expect(letter.headers["reason"] == bad.reason, "\(bad.name): \(letter.headers)")
                #expect(letter.headers["source-topic"] == "push.requests", "\(bad.name)")
                #expect(letter.headers["source-partition"] == "\(place.partition)", "\(bad.name)")
                #expect(letter.headers["content-type"] == (bad.record.isJSON ? "application/json" : nil), "\(bad.name)")
                #expect(letter.key == Array(bad.record.key.utf8), "\(bad.name)")
                if let cut = letter.headers["cut-from-bytes"] {
                    #expect(cut == "\(bad.record.value.count)", "\(bad.name)")
                    #expect(bad.record.value.starts(with: letter.value) && !letter.value.isEmpty, "\(bad.name)")
                } else {
                    #expect(letter.value == bad.record.value, "\(bad.name)")
                }
            }
            let outcomes = try follower.outcomes().map(\.outcome).filter { $0.sourceOffset == place.offset }
            #expect(outcomes.map(\.tokenIndex).sorted() == Array(0..<UInt32(place.notifications)), "\(bad.name)")
            for outcome in outcomes where bad.faultyTokens?.contains(outcome.tokenIndex) ?? true {
                #expect(outcome.kind == .deadLettered, "\(bad.name)")
                #expect(outcome.reason == bad.reason, "\(bad.name)")
            }
        }
    }
}
