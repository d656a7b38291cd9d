import APNsProtocol
import BelfrySupport
import Logging
import NIOEmbedded
import PipelineCore
import Testing

@testable import Sender

/// Broadcasts on their way over HTTP/2.
@Suite("Broadcasts in a lane")
struct BroadcastLaneTests {
    /// Notes the verdicts on notifications.
    private final class Recorder: StreamStage {
        var results: [StreamVerdict.Result] = []
        var mayWrite: Bool { true }
        var hasStoodStill: Bool { false }

        func mayConnect(_ topic: Topic, _ purpose: ConnectionBudget.Purpose, now: MonotonicTime) -> MonotonicTime? {
            nil
        }

        func handle(_ event: TransportEvent, of topic: Topic) {}

        func handle(_ event: StreamEvent, of lane: StreamLane) {
            switch event {
            case .answered: break
            case .confirmed(let slots, _): results += slots.map { _ in .confirmed }
            case .settled(let verdict, _, _): results.append(verdict.result)
            }
        }
    }

    /// A lane without connections; the test plays them.
    private final class Bench {
        static let bundleID = "com.example.news"
        static let now = MonotonicTime(nanoseconds: 1)

        let recorder = Recorder()
        let topics: HTTP2Topics
        let lane: StreamLane
        private var streams: Int32 = 0

        init() {
            var configuration = BelfryConfiguration()
            configuration.environments = [EnvironmentSettings(name: "sandbox", gateways: [], transport: .http2)]
            let settings = ShardSettings(configuration, unixMilliseconds: { 0 }, randomBits: { 35 })
            let gateway = MemoryGateway(EmbeddedEventLoop())
            gateway.missing = [Self.bundleID]
            topics = HTTP2Topics(
                settings: settings,
                connectors: gateway,
                stage: recorder,
                memory: ShardMemory(settings.memory),
                logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }),
                clock: { Self.now }
            )
            lane = topics.makeLane(
                of: settings.makeTopic(0, environment: "sandbox", bundleID: Self.bundleID, filters: nil)
            )
        }

        /// Appends the only notification of a request that the intake made.
        func append(_ batch: PreparedBatch, record number: UInt32) throws {
            let content = lane.beginContent(try batch.streamContent(bundleID: Self.bundleID))
            lane.append(
                NotificationReference(assignment: 1, record: number, token: 0),
                token: batch.tokens[0],
                checksum: batch.checksums[0],
                content: content
            )
            lane.endContent(content)
        }

        /// Sends the next notification that may go; nil: none may.
        func send() -> StreamTicket? {
            guard let ticket = lane.nextTicket(now: Self.now) else { return nil }
            streams += 2
            lane.sent(ticket, connection: 1, stream: streams - 1, now: Self.now)
            return ticket
        }

        func record(of ticket: StreamTicket) -> UInt32 { lane.queue.reference(at: ticket.slot).record }

        func answer(_ ticket: StreamTicket, _ status: Int, _ body: String = "") {
            let answer = Array(body.utf8).withUnsafeBytes { ProviderAnswer(status: status, id: nil, body: $0) }
            lane.answered(
                ticket,
                answer.verdict,
                status == 200 ? nil : answer,
                by: lane.connections,
                now: Self.now
            )
            topics.settle()
        }
    }

    private func broadcast(_ intake: IntakeBench, to channel: String) throws -> PreparedBatch {
        let batch = try intake.take {
            $0.packedTokens = .init()
            $0.channel = channel
            $0.expiration = 0
            $0.priority = 10
        }
        return try #require(batch)
    }

    @Test("Of one channel's broadcasts the newer waits for the older's answer; another channel's does not")
    func order() throws {
        let (bench, intake) = (Bench(), IntakeBench())
        for (number, channel) in ["AAAA", "AAAA", "BBBB"].enumerated() {
            try bench.append(try broadcast(intake, to: channel), record: UInt32(number))
        }
        let first = try #require(bench.send())
        let third = try #require(bench.send())
        #expect(bench.record(of: third) == 2)
        #expect(bench.send() == nil)
        bench.answer(first, 200)
        let second = try #require(bench.send())
        #expect(bench.record(of: second) == 1)
        bench.answer(second, 200)
        bench.answer(third, 200)
        #expect(bench.recorder.results == [.confirmed, .confirmed, .confirmed])
    }

    @Test(
        "An answer that is about a token is nothing but a rejection for a channel",
        arguments: [
            (410, #"{"reason":"Unregistered","timestamp":1700000000000}"#), (400, #"{"reason":"BadDeviceToken"}"#),
            (400, #"{"reason":"ChannelNotRegistered"}"#),
        ]
    )
    func noTombstone(status: Int, body: String) throws {
        let bench = Bench()
        try bench.append(try broadcast(IntakeBench(), to: "AAAA"), record: 0)
        bench.answer(try #require(bench.send()), status, body)
        #expect(bench.recorder.results == [.rejected])
    }

    @Test("A token is judged as before")
    func token() throws {
        let (bench, intake) = (Bench(), IntakeBench())
        try bench.append(try #require(try intake.take { _ in }), record: 0)
        bench.answer(try #require(bench.send()), 400, #"{"reason":"BadDeviceToken"}"#)
        #expect(bench.recorder.results == [.tokenRefused])
    }
}
