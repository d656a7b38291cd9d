import APNsProtocol
import Foundation
import PipelineCore
import PushSchemas
import PushTopics
import Testing

@testable import PipelineTestSupport
@testable import Sender
@testable import SimulatedServers

/// Dead letters for refusals of one record that come one after the other.
@Suite("Refused content")
struct RefusedContentTests {
    private static let count: UInt32 = 100

    private var refused = RefusedContent()
    private var done: Set<UInt32> = []
    private var letters: [RefusedContent.Refused] = []

    private func at(_ seconds: Int64) -> MonotonicTime { MonotonicTime(nanoseconds: 0) + .seconds(seconds) }

    private mutating func take(_ letter: RefusedContent.Refused) {
        letters.append(letter)
        for run in letter.tokens.runs { done.formUnion(run) }
    }

    private mutating func refuse(_ token: UInt32, for reason: String = "a", of feed: UInt32 = 1, at seconds: Int64) {
        let reference = NotificationReference(assignment: feed, record: 2, token: token)
        let refusal = RecordRefusal(reason: reason, detail: "")
        refused.add(reference, status: 7, refusal, now: at(seconds)) { .first }
        let open = Int(Self.count) - done.count
        if let letter = refused.takeRecord(of: reference, reason: reason, ifComplete: open) { take(letter) }
    }

    /// - Parameter hurried: a feed that waits for nothing.
    private mutating func wait(until seconds: Int64, hurried: UInt32? = nil) {
        let open = Int(Self.count) - done.count
        let due = refused.takeDue(now: at(seconds), isHurried: { $0 == hurried }, remaining: { _, _ in open })
        for letter in due { take(letter) }
    }

    @Test("A record whose tokens are refused for minutes has two dead letters, with each token in one")
    mutating func slow() {
        for token in 0..<Self.count {
            refuse(token, at: Int64(token) * 2)
            wait(until: Int64(token) * 2 + 1)
        }
        #expect(letters.map(\.tokens.text) == ["0-2", "3-99"])
        wait(until: 1000)
        #expect(letters.count == 2 && refused.isEmpty)
    }

    @Test("Refusals for several reasons do not wait for each other")
    mutating func reasons() {
        for token in 0..<2 as Range<UInt32> { refuse(token, for: "\(token)", at: 0) }
        wait(until: 5)
        #expect(letters.map(\.tokens.text) == ["0", "1"])
        for token in 2..<Self.count { refuse(token, for: "\(token % 2)", at: 6) }
        wait(until: 7)
        #expect(letters.count == 4 && done.count == Int(Self.count) && refused.isEmpty)
    }

    @Test("A feed that is to end waits for no further refusals")
    mutating func hurried() {
        refuse(0, at: 0)
        wait(until: 5)
        refuse(1, at: 6)
        wait(until: 600)
        #expect(letters.count == 1)
        wait(until: 600, hurried: 1)
        #expect(letters.map(\.tokens.text) == ["0", "1"])
    }

    @Test("A feed that is to end hurries no other's refusals")
    mutating func hurriedAlone() {
        for feed in 1...2 as ClosedRange<UInt32> { refuse(feed, of: feed, at: 0) }
        wait(until: 1, hurried: 2)
        #expect(letters.map(\.feed) == [2])
        refuse(3, of: 1, at: 2)
        wait(until: 5)
        #expect(letters.map(\.feed) == [2, 1] && letters.map(\.tokens.text) == ["2", "1,3"])
    }

    @Test("A topic that stops waits for no further refusals of content; dead letters of the others do")
    func hurriedRefusals() throws {
        let bench = ShardBench()
        defer { bench.shard.leave() }
        bench.gateway.timeout = .seconds(2)
        bench.gateway.answers[ShardBench.news] = { [unowned gateway = bench.gateway] _ in
            // The next refusal takes its time.
            gateway.silent = [ShardBench.news]
            return .invalidPayloadSize
        }
        bench.gateway.answers[ShardBench.sport] = { $0 == 1 ? .invalidPayloadSize : .missingTopic }
        bench.assign(0)
        try bench.bring((ShardBench.news, [1, 2]), (ShardBench.sport, [1, 2]))
        bench.wait(milliseconds: 1000)
        func published() -> [String] {
            bench.producer.records(of: "push.dead-letters").map { letter in
                "\(letter.header("source-offset") ?? "")/\(letter.header("token-indices") ?? "")"
            }
        }
        #expect(bench.shard.report().topics.first { $0.bundleID == ShardBench.sport }?.reason == "topic-refused")
        #expect(published() == ["1/0"])
        bench.gateway.silent = []
        bench.wait(milliseconds: 4000)
        #expect(published() == ["1/0", "0/0-1"])
    }

    // MARK: Content that is refused to every token

    private func letters(of bench: ShardBench) -> [String] {
        bench.producer.records(of: "push.dead-letters").map { letter in
            "\(letter.header("source-offset") ?? "")/\(letter.header("token-indices") ?? "")"
                + " \(letter.header("reason") ?? "")"
        }
    }

    @Test(
        "Content that is refused to three tokens costs no more connections, and one dead letter",
        arguments: [
            (.unknown, 6), (.protocolError, 6), (.invalidPayloadSize, 3), (.missingPayload, 3),
            (.missingDeviceToken, 3),
        ] as [(APNsStatus, Int)]
    )
    func condemned(status: APNsStatus, answers: Int) throws {
        let bench = ShardBench()
        defer { bench.shard.leave() }
        bench.gateway.answers[ShardBench.news] = { $0 < 200 ? status : nil }
        bench.assign(0)
        try bench.bring((ShardBench.news, Array(0..<200)))
        bench.wait(milliseconds: 4000)
        #expect(letters(of: bench) == ["0/0-199 gateway-status-\(status.rawValue)"])
        #expect(bench.gateway.attempts.count == answers)
        #expect(try bench.offsets(.deadLettered).count == 200)
        // Other content goes, and the rest of the condemned, which comes later, goes not.
        try bench.bring([
            (ShardBench.news, request(to: Array(10..<20))), (ShardBench.news, request("other", to: [201, 202])),
        ])
        bench.wait(milliseconds: 4000)
        #expect(bench.gateway.accepted(of: ShardBench.news) == [201, 202])
        #expect(bench.gateway.attempts.count == answers + 1)
        #expect(try bench.offsets(.deadLettered).count == 210)
    }

    private func request(_ text: String? = nil, to tokens: [UInt8]) -> PushSendRequest {
        PushSendRequest.with {
            if let text { $0.payload = Data(#"{"aps":{"alert":"\#(text)"}}"#.utf8) }
            $0.packedTokens = Data(tokens.flatMap { Array(repeating: $0, count: 32) })
        }
    }

    @Test("Content that was accepted for one token is refused to each of the others by itself")
    func cleared() throws {
        let bench = ShardBench()
        defer { bench.shard.leave() }
        bench.gateway.answers[ShardBench.news] = { $0 > 0 && $0 < 10 ? .invalidPayloadSize : nil }
        bench.assign(0)
        try bench.bring((ShardBench.news, Array(0..<20)))
        bench.wait(milliseconds: 8000)
        #expect(bench.gateway.accepted(of: ShardBench.news) == [0] + Array(10..<20))
        #expect(letters(of: bench) == ["0/1-9 gateway-status-7"])
    }
}
