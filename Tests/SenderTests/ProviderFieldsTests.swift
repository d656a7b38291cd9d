import APNsProtocol
import BelfrySupport
import Foundation
import Logging
import PipelineCore
import PushSchemas
import PushTopics
import Testing

@testable import KafkaClient
@testable import Sender

/// Fields of requests that only the provider API takes, from the record to the connections.
@Suite("Requests over HTTP/2")
struct ProviderFieldsTests {
    /// An intake that takes in one request at a time.
    private final class Bench {
        static let bundleID = "com.example.news"
        static let requests = "push.requests"

        let producer = ScriptedProducer()
        private let intake: Intake
        private let topic: Topic
        private let feed: TopicFeed
        private let partition: PartitionAssignment
        private var nextOffset: Int64 = 7

        init(_ transport: EnvironmentSettings.Transport = .http2) {
            var configuration = BelfryConfiguration()
            configuration.environments = [EnvironmentSettings(name: "sandbox", gateways: [], transport: transport)]
            let settings = ShardSettings(configuration, unixMilliseconds: { 0 }, randomBits: { 35 })
            let feeds = FeedTable()
            partition = PartitionAssignment(
                place: KafkaTopicPartition(topic: Self.requests, partition: 3),
                doneBelow: 0,
                doneOfAll: DoneRanges(),
                table: feeds,
                budget: ShardMemory(settings.memory)
            )
            topic = settings.makeTopic(0, environment: "sandbox", bundleID: Self.bundleID, filters: nil)
            feed = partition.feed(of: TopicHash(value: 1), account: TopicAccount(topic))
            let outcomes = Outcomes(
                settings: settings,
                feeds: feeds,
                producer: producer,
                logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
            )
            intake = Intake(
                outcomes: outcomes,
                requestsTopic: Self.requests,
                remembersRequests: false,
                unixMilliseconds: { 0 }
            )
        }

        /// The batch that a request to token 1 makes; nil: it became a dead letter.
        func take(_ fill: (inout PushSendRequest) -> Void) throws -> PreparedBatch? {
            let request = PushSendRequest.with {
                $0.payload = Data(#"{"aps":{"alert":"Hi"}}"#.utf8)
                $0.packedTokens = Data(repeating: 1, count: 32)
                fill(&$0)
            }
            let record = KafkaRecord(
                topic: Self.requests,
                partition: 3,
                offset: nextOffset,
                key: Array(Self.bundleID.utf8),
                value: try request.serializedBytes()
            )
            nextOffset += 1
            let batch = KafkaBatch([record])
            intake.begin(batch, now: MonotonicTime(nanoseconds: 1))
            let message = batch[0]
            intake.see(message)
            let view = try SendRequestView(decoding: message.value, as: .protobuf)
            intake.addRequest(
                Intake.Fed(message: message, index: 0, feed: feed, topic: topic, request: view, shard: nil)
            )
            return intake.end()
        }

        /// The fields of a request that is sent.
        func fields(_ fill: (inout PushSendRequest) -> Void) throws -> ProviderFields {
            let batch = try #require(try take(fill), "\(letters)")
            return try #require(batch.records.first?.provider)
        }

        /// Reason and detail of the dead letters.
        var letters: [String] {
            producer.messages(of: "push.dead-letters").map {
                "\($0.header("reason") ?? ""): \($0.header("detail") ?? "")"
            }
        }
    }

    private static let background = Data(#"{"aps":{"content-available":1}}"#.utf8)

    // MARK: Push types

    @Test("The push type is the one that the request names, or inferred from its payload")
    func pushTypes() throws {
        let bench = Bench()
        #expect(try bench.fields { _ in }.pushType == .alert)
        #expect(try bench.fields { $0.payload = Self.background }.pushType == .background)
        for pushType in PushType.allCases {
            #expect(try bench.fields { $0.pushType = pushType.rawValue }.pushType == pushType)
        }
    }

    @Test("A push type that is none is a dead letter that lists all")
    func unknownPushType() throws {
        let bench = Bench()
        for name in ["Alert", "alerts", " alert", "größe"] { #expect(try bench.take { $0.pushType = name } == nil) }
        #expect(bench.letters.count == 4)
        for letter in bench.letters {
            #expect(letter.hasPrefix("push-type-invalid: "))
            for pushType in PushType.allCases { #expect(letter.contains(pushType.rawValue)) }
        }
    }

    @Test("The longest payload is that of the push type")
    func payloads() throws {
        func payload(_ bytes: Int) -> Data {
            let frame = #"{"aps":{"alert":""}}"#
            let text = #"{"aps":{"alert":""# + String(repeating: "x", count: bytes - frame.utf8.count) + #""}}"#
            return Data(text.utf8)
        }
        let bench = Bench()
        #expect(try bench.take { $0.payload = payload(4096) } != nil)
        #expect(try bench.take { $0.payload = payload(4097) } == nil)
        let voip = PushType.voip.rawValue
        for bytes in [4097, 5120] {
            let batch = try bench.take {
                $0.payload = payload(bytes)
                $0.pushType = voip
            }
            #expect(batch?.records.first?.payloadBytes == bytes)
        }
        let longer = try bench.take {
            $0.payload = payload(5121)
            $0.pushType = voip
        }
        #expect(longer == nil)
        #expect(bench.letters.map { $0.prefix(16) } == ["payload-invalid:", "payload-invalid:"])
    }

    // MARK: Priorities

    @Test("Without a priority the push type's default holds")
    func defaultPriority() throws {
        let bench = Bench()
        #expect(try bench.fields { _ in }.priority == .immediate)
        #expect(try bench.fields { $0.pushType = "background" }.priority == .powerSaving)
        #expect(try bench.fields { $0.payload = Self.background }.priority == .powerSaving)
    }

    @Test("A priority that the named push type does not allow is a dead letter that says which are")
    func priorityOfNamedType() throws {
        let bench = Bench()
        for (pushType, priority) in [("background", 10), ("background", 1), ("alert", 1)] as [(String, UInt32)] {
            let batch = try bench.take {
                $0.pushType = pushType
                $0.priority = priority
            }
            #expect(batch == nil)
        }
        #expect(
            bench.letters == [
                "priority-invalid: 'priority' is 10; allowed for the push type background: 5",
                "priority-invalid: 'priority' is 1; allowed for the push type background: 5",
                "priority-invalid: 'priority' is 1; allowed for the push type alert: 10, 5",
            ]
        )
        for (number, priority) in [(10, .immediate), (5, .powerSaving), (1, .neverWaking)]
            as [(UInt32, ProviderPriority)]
        {
            let fields = try bench.fields {
                $0.pushType = "widgets"
                $0.priority = number
            }
            #expect(fields.priority == priority)
        }
    }

    @Test("To an inferred push type the priority is fitted")
    func priorityOfInferredType() throws {
        let bench = Bench()
        let fields = try bench.fields {
            $0.payload = Self.background
            $0.priority = 10
        }
        #expect(fields.pushType == .background && fields.priority == .powerSaving)
        #expect(try bench.fields { $0.priority = 1 }.priority == .powerSaving)
        #expect(try bench.fields { $0.priority = 10 }.priority == .immediate)
    }

    // MARK: Collapse ids

    @Test("A collapse id of 1 to 64 bytes is taken as it is; without one there is none")
    func collapseIDs() throws {
        let bench = Bench()
        #expect(try bench.fields { _ in }.collapseID.isEmpty)
        for id in ["s", "score of match 7", String(repeating: "x", count: 64), "größe"] {
            #expect(try bench.fields { $0.collapseID = id }.collapseID == Array(id.utf8))
        }
    }

    @Test("A collapse id that no header can carry is a dead letter")
    func wrongCollapseIDs() throws {
        let bench = Bench()
        let wrong = [String(repeating: "x", count: 65), " x", "x ", "a\nb", "a\u{0}b", "\u{7F}"]
        for id in wrong { #expect(try bench.take { $0.collapseID = id } == nil) }
        #expect(bench.letters.count == wrong.count)
        #expect(bench.letters.allSatisfy { $0.hasPrefix("collapse-id-invalid: ") })
    }

    // MARK: Ids

    @Test("The id of a notification follows from the record's place in Kafka, the request id, token and index")
    func ids() throws {
        let bench = Bench()
        let token = [UInt8](repeating: 1, count: 32)
        for (offset, requestID) in [(7, "a"), (8, "a"), (9, "")] as [(Int64, String)] {
            let fields = try bench.fields { $0.requestID = requestID }
            let expected = Array(Bench.requests.utf8).withUnsafeBytes { name in
                Array(requestID.utf8).withUnsafeBytes {
                    NotificationIDs(kafkaTopic: name, partition: 3, offset: offset, requestID: $0)
                }
            }
            token.withUnsafeBytes { token in
                for index in 0..<3 as Range<UInt32> {
                    #expect(fields.ids.id(token: token, index: index) == expected.id(token: token, index: index))
                }
            }
        }
    }

    @Test("A request that waits to be coalesced keeps its fields")
    func waiting() throws {
        let bench = CoalescingBench {
            let place = HostPort(host: "nowhere", port: 1)
            $0.environments = [EnvironmentSettings(name: "sandbox", gateways: [place], transport: .http2)]
            $0.worker.coalescingWindow = .seconds(2)
        }
        defer { bench.shard.leave() }
        var due: [WaitingRequest] = []
        bench.shard.stages.coalescing.onDue = { due.append($0) }
        bench.group.cachedEnd = 0
        try bench.bring((1, "score"), (2, "score"))
        bench.wait(milliseconds: 3000)
        #expect(due.map(\.provider?.pushType) == [.alert, .alert])
        for (offset, request) in due.enumerated() {
            let ids = Array("push.requests".utf8).withUnsafeBytes { name in
                NotificationIDs(
                    kafkaTopic: name,
                    partition: 0,
                    offset: Int64(offset),
                    requestID: UnsafeRawBufferPointer(start: nil, count: 0)
                )
            }
            request.token.withUnsafeBytes { token in
                #expect(request.provider?.ids.id(token: token, index: 0) == ids.id(token: token, index: 0))
            }
        }
    }

    // MARK: The binary interface

    @Test("Over the binary interface push type and collapse id mean nothing, whatever they say")
    func binary() throws {
        let bench = Bench(.binary)
        let batch = try bench.take {
            $0.pushType = "nonsense"
            $0.collapseID = " x"
            $0.priority = 5
        }
        let record = try #require(batch?.records.first)
        #expect(record.provider == nil && record.priority == .powerSaving)
        #expect(try bench.take { _ in }?.records.first?.priority == .immediate)
        #expect(bench.letters.isEmpty)
    }

    @Test("Over the binary interface the priority 1 is a dead letter")
    func binaryPriority() throws {
        let bench = Bench(.binary)
        #expect(try bench.take { $0.priority = 1 } == nil)
        #expect(
            bench.letters == ["priority-invalid: 'priority' is 1; allowed over the binary interface: 10, 5"]
        )
    }
}
