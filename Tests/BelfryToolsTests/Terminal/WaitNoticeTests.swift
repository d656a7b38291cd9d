import Foundation
import KafkaClient
import Logging
import PushSchemas
import PushTopics
import Synchronization
import Testing

@testable import BelfrySupport
@testable import BelfryTools

/// The words of a command that waits, and the terminal beside them.
@Suite struct WaitNoticeTests {
    /// A timer in the test's hand, and what was said.
    private final class Waiting: Sendable {
        private let pending = Mutex<(@Sendable () -> Void)?>(nil)
        private let text = Mutex("")

        var said: String { text.withLock { $0 } }

        func notice(_ subject: String) -> WaitNotice {
            WaitNotice(subject) { tell in
                self.pending.withLock { $0 = tell }
            } output: { text in
                self.text.withLock { $0 += text }
            }
        }

        func patienceIsOver() {
            pending.withLock { $0 }?()
        }
    }

    @Test("A wait that outlasts patience is told")
    func told() {
        let waiting = Waiting()
        let notice = waiting.notice("the brokers at kafka:9092")
        #expect(waiting.said == "")
        waiting.patienceIsOver()
        #expect(waiting.said == "waiting for the brokers at kafka:9092")
        notice.end()
    }

    @Test("A wait that is over is not told any more")
    func over() {
        let waiting = Waiting()
        waiting.notice("nobody").end()
        waiting.patienceIsOver()
        #expect(waiting.said == "")
    }

    @Test("Patience leaves time to speak within three seconds")
    func patience() {
        guard case .seconds(let seconds) = WaitNotice.patience else {
            Issue.record("patience is not in seconds")
            return
        }
        #expect((1..<3).contains(seconds))
    }

    @Test("The follower of outcomes waits for brokers that do not answer, and says so")
    func follower() async throws {
        var settings = KafkaSettings()
        settings.brokers = "127.0.0.1:1"
        let (said, continuation) = AsyncStream.makeStream(of: String.self)
        var follower = OutcomeFollower(settings, .showing(from: .end, limit: nil)) { _ in true }
        follower.beginWaiting = { subject in
            WaitNotice(subject, timer: { $0() }, output: { continuation.yield($0) })
        }
        let running = Task { [follower] in try await follower.run() }
        var lines = said.makeAsyncIterator()
        #expect(await lines.next() == "waiting for the brokers at 127.0.0.1:1 to hand out push.outcomes")
        running.cancel()
        try await running.value
    }

    @Test("The follower of outcomes that has nothing to print yet says what it waits for")
    func nothingYet() async throws {
        let broker = try EmbeddedBroker(topics: [(name: "push.outcomes", partitions: 1)])
        defer { broker.close() }
        var settings = KafkaSettings()
        settings.brokers = broker.bootstrapServers
        let (said, continuation) = AsyncStream.makeStream(of: String.self)
        var follower = OutcomeFollower(settings, .showing(from: .end, limit: nil)) { _ in true }
        follower.beginWaiting = { subject in
            WaitNotice(subject, timer: { $0() }, output: { continuation.yield($0) })
        }
        let running = Task { [follower] in try await follower.run() }
        var lines = said.makeAsyncIterator()
        _ = await lines.next()
        #expect(
            await lines.next() == "waiting for outcomes to come; --from beginning prints those that are there"
        )
        running.cancel()
        try await running.value
    }

    @Test("The follower that only counts waits no more for the first outcome once it has counted one")
    func counting() async throws {
        let broker = try EmbeddedBroker(topics: [(name: "push.outcomes", partitions: 1)])
        defer { broker.close() }
        var settings = KafkaSettings()
        settings.brokers = broker.bootstrapServers
        let producer = try KafkaProducer(properties: settings.producerProperties(clientID: "test"))
        try producer.produce(
            topic: "push.outcomes",
            partition: 0,
            key: [],
            value: PushOutcome.with { $0.kind = .confirmed }.serializedBytes(),
            headers: []
        )
        try producer.flush(timeoutMilliseconds: 10_000)
        producer.close()
        var view = OutcomeFollower.View.showing(from: .beginning, limit: nil)
        view.onlyCounts = true
        let tells = Mutex<[@Sendable () -> Void]>([])
        let said = Mutex<[String]>([])
        var follower = OutcomeFollower(settings, view) { _ in
            // Patience is over when the first batch was looked at.
            for tell in tells.withLock({ $0 }) { tell() }
            return false
        }
        follower.beginWaiting = { subject in
            WaitNotice(
                subject,
                timer: { tell in tells.withLock { $0.append(tell) } },
                output: { text in said.withLock { $0.append(text) } }
            )
        }
        try await follower.run()
        #expect(tells.withLock { $0.count } == 2 && said.withLock { $0 } == [])
    }

    @Test("A role that asks for brokers in vain says so within three seconds, and then leaves slow ones their time")
    func firstQuestion() {
        #expect(KafkaReadiness.timeoutMilliseconds(failures: 0) < 3_000)
        #expect(KafkaReadiness.timeoutMilliseconds(failures: 1) >= 5_000)
    }

    /// Output and diagnostics that go to one terminal.
    private final class Screen {
        private var lines: [[UInt8]] = [[]]
        private var column = 0

        /// Without the blanks behind the text.
        var text: [String] {
            lines.map { line in
                String(decoding: line.reversed().drop { $0 == UInt8(ascii: " ") }.reversed(), as: UTF8.self)
            }
        }

        func show(_ bytes: [UInt8]) {
            for byte in bytes {
                switch byte {
                case UInt8(ascii: "\n"):
                    lines.append([])
                    column = 0
                case UInt8(ascii: "\r"):
                    column = 0
                default:
                    if column < lines[lines.count - 1].count {
                        lines[lines.count - 1][column] = byte
                    } else {
                        lines[lines.count - 1].append(byte)
                    }
                    column += 1
                }
            }
        }
    }

    @Test("On a terminal rows stand alone on their lines, before, behind and between progress")
    func rows() {
        let screen = Screen()
        let rows = ProgressRows(progress: ProgressLine(isShown: true, output: screen.show)) { bytes in
            screen.show(bytes)
            return true
        }
        #expect(rows.write([], share: 0.1))
        #expect(screen.text == ["[###...........................] 10% 0 tokens"])
        #expect(rows.write(["aa", "bb"], share: 0.5))
        #expect(rows.write(["cc"], share: 1))
        rows.end()
        #expect(screen.text == ["aa", "bb", "cc", ""])
    }

    @Test("Rows that cannot be written end the walk")
    func nobodyReads() {
        let rows = ProgressRows(progress: ProgressLine(isShown: false) { _ in }) { _ in false }
        #expect(!rows.write(["aa"], share: 0.5))
        #expect(rows.write([], share: 0.5))
    }
}
