import Dispatch
import Foundation
import Logging
import PipelineCore
import Synchronization
import Testing

@testable import BelfrySupport

@Suite("Limits of the log", .timeLimit(.minutes(1)))
struct LogLimitServerTests {
    private typealias Kind = LogRateLimiter.Kind

    private static let refused = Kind(level: .warning, logger: "l", message: "refused")
    private static let lost = Kind(level: .warning, logger: "l", message: "lost")

    private func at(_ milliseconds: UInt64) -> MonotonicTime {
        MonotonicTime(nanoseconds: milliseconds * 1_000_000)
    }

    private func limiter(kinds: Int = 10) -> LogRateLimiter {
        LogRateLimiter(burst: 3, interval: .milliseconds(100), silence: .seconds(1), limitKinds: kinds)
    }

    // MARK: Texts

    @Test(
        "A text beyond the limit ends with an ellipsis and the bytes left out, never in the middle of a character",
        arguments: [
            ("abcd", "abcd"), ("abcde", "abcd… (1 byte left out)"), ("abcdefghij", "abcd… (6 bytes left out)"),
            ("abcé", "abc… (2 bytes left out)"), ("abé", "abé"), ("🚀🚀", "🚀… (4 bytes left out)"),
            ("ab🚀", "ab… (4 bytes left out)"), ("", ""),
        ]
    )
    func texts(text: String, expected: String) {
        #expect(LogText.limited(text, to: 4) == expected)
    }

    @Test("The texts of a line share its room; what comes when it is used up says how much it was")
    func room() {
        var room = LogRoom(lineBytes: 10, textBytes: 6)
        #expect(room.fit("abcdefgh") == "abcdef… (2 bytes left out)")
        #expect(room.fit("abc") == "abc")
        #expect(room.fit("abc") == "a… (2 bytes left out)")
        #expect(room.fit("abc") == "… (3 bytes left out)")
        #expect(room.fit("") == "")
    }

    @Test("A line stays JSON of bounded size, whatever its metadata hold")
    func longLine() throws {
        let (lines, logger) = logger(gate: nil)
        let long = String(repeating: "\"é", count: 100_000)
        logger.warning("\(long)", metadata: ["a": "\(long)", "b": ["c": "\(long)"], "d": ["\(long)"], "e": "\(long)"])
        let line = try #require(lines.all.first)
        // Each quote is escaped.
        #expect(line.utf8.count < 2 * LogLimits.lineBytes + 1000)
        let object = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        #expect((object["message"] as? String)?.hasSuffix(" bytes left out)") == true)
        #expect((object["metadata"] as? [String: Any])?.count == 4)
    }

    // MARK: Rate

    @Test("A burst is written, then a line for each interval; the count of the others comes with the next")
    func rate() {
        var limiter = limiter()
        let verdicts = (0..<5).map { _ in limiter.judge(Self.refused, now: at(0)) }
        #expect(verdicts == [.write(leftOut: 0), .write(leftOut: 0), .write(leftOut: 0), .leaveOut, .leaveOut])
        #expect(limiter.judge(Self.refused, now: at(99)) == .leaveOut)
        #expect(limiter.judge(Self.refused, now: at(100)) == .write(leftOut: 3))
        #expect(limiter.judge(Self.refused, now: at(100)) == .leaveOut)
        #expect(limiter.judge(Self.refused, now: at(200)) == .write(leftOut: 1))
        #expect(limiter.judge(Self.refused, now: at(300)) == .write(leftOut: 0))
        // After a pause there is a burst again.
        let later = (0..<4).map { _ in limiter.judge(Self.refused, now: at(10_000)) }
        #expect(later == [.write(leftOut: 0), .write(leftOut: 0), .write(leftOut: 0), .leaveOut])
    }

    @Test("One kind of message does not use up the rate of another, nor of another level or logger")
    func kinds() {
        var limiter = limiter()
        for _ in 0..<5 { _ = limiter.judge(Self.refused, now: at(0)) }
        #expect(limiter.judge(Self.lost, now: at(0)) == .write(leftOut: 0))
        for (level, logger) in [(Logger.Level.error, "l"), (.warning, "m")] {
            let kind = Kind(level: level, logger: logger, message: "refused")
            #expect(limiter.judge(kind, now: at(0)) == .write(leftOut: 0))
        }
    }

    @Test("Lines left out are told when no more of them come, once, in the order of their messages")
    func silence() {
        var limiter = limiter()
        for kind in [Self.refused, Self.lost] {
            for _ in 0..<5 { _ = limiter.judge(kind, now: at(0)) }
        }
        _ = limiter.judge(Self.refused, now: at(50))
        #expect(limiter.takeSilent(now: at(999)) == [])
        #expect(limiter.takeSilent(now: at(1000)) == [.init(kind: Self.lost, lines: 2)])
        #expect(limiter.takeSilent(now: at(1050)) == [.init(kind: Self.refused, lines: 3)])
        #expect(limiter.takeSilent(now: at(5000)) == [])
        #expect(limiter.judge(Self.lost, now: at(5000)) == .write(leftOut: 0))
    }

    @Test("Kinds beyond those that are told apart share one rate, until others have fallen silent")
    func manyKinds() {
        var limiter = limiter(kinds: 2)
        _ = limiter.judge(Self.refused, now: at(0))
        _ = limiter.judge(Self.lost, now: at(0))
        let others = (0..<4).map { limiter.judge(Kind(level: .info, logger: "l", message: "\($0)"), now: at(0)) }
        #expect(others.suffix(2) == [.write(leftOut: 0), .leaveOut])
        #expect(limiter.takeSilent(now: at(2000)) == [.init(kind: .others, lines: 1)])
        let fresh = Kind(level: .info, logger: "l", message: "fresh")
        for _ in 0..<5 { _ = limiter.judge(fresh, now: at(3000)) }
        #expect(limiter.takeSilent(now: at(4000)) == [.init(kind: fresh, lines: 2)])
    }

    @Test("A logger writes as its gate says, and its next line tells how many were left out")
    func gate() {
        let clock = Atomic<UInt64>(0)
        let gate = LogGate(limiter()) { MonotonicTime(nanoseconds: clock.load(ordering: .relaxed)) }
        let (lines, logger) = logger(gate: gate)
        for number in 0..<5 { logger.info("refused", metadata: ["number": "\(number)"]) }
        clock.store(100_000_000, ordering: .relaxed)
        logger.info("refused")
        #expect(lines.all.count == 4)
        #expect(lines.all[2].contains(#""metadata":{"number":"2"}"#) && !lines.all[2].contains("left_out"))
        #expect(lines.all[3].hasSuffix(#""message":"refused","left_out":2}"# + "\n"))
        logger.info("refused")
        clock.store(2_000_000_000, ordering: .relaxed)
        let told = gate.takeSilent().map {
            String(decoding: JSONLogHandler.line($0, unixMilliseconds: 0), as: UTF8.self)
        }
        #expect(
            told == [
                #"{"time":"1970-01-01T00:00:00.000Z","level":"info","logger":"l","message":"log lines left out","#
                    + #""metadata":{"lines":"1","message":"refused"}}"# + "\n"
            ]
        )
    }

    // MARK: The way to standard error

    @Test("A full queue leaves out what comes, also what would fit, until it is taken")
    func queue() {
        var queue = LogQueue(limitBytes: 4)
        #expect(queue.isEmpty)
        queue.append([1, 2, 3])
        queue.append([4, 5])
        queue.append([6])
        #expect(queue.takeLines() == ([1, 2, 3], 2))
        #expect(queue.isEmpty)
        queue.append([7])
        #expect(queue.takeLines() == ([7], 0))
    }

    @Test("A reader who stands still holds no writer up; what did not fit is told when it goes on")
    func stalled() {
        let reader = Reader()
        let writer = LogWriter(
            limitBytes: 8,
            output: reader.read,
            tellLeftOut: { Array("(\($0) left out)\n".utf8) }
        )
        defer { writer.close() }
        writer.write(Array("one\n".utf8))
        reader.entered.wait()
        // The first line is on its way, and stays there.
        for _ in 0..<10 { writer.write(Array("two\n".utf8)) }
        #expect(!writer.flush(within: .zero))
        reader.isFree.store(true, ordering: .releasing)
        reader.goOn.signal()
        #expect(writer.flush(within: .seconds(60)))
        #expect(reader.text == "one\ntwo\ntwo\n(8 left out)\n")
    }

    @Test("Lines that came before the writer was closed are still written, and it asks for lines that wait elsewhere")
    func closing() {
        let reader = Reader()
        reader.isFree.store(true, ordering: .releasing)
        let asked = DispatchSemaphore(value: 0)
        let writer = LogWriter(
            output: reader.read,
            tellLeftOut: { _ in [] },
            takeMore: {
                asked.signal()
                return Array("more\n".utf8)
            }
        )
        writer.write(Array("one\n".utf8))
        writer.close()
        #expect(writer.flush(within: .seconds(60)))
        asked.wait()
        #expect(reader.text.contains("one\nmore\n"))
    }

    /// Reads the bytes of a writer; unless it is free it lets the writer wait.
    private final class Reader: Sendable {
        let entered = DispatchSemaphore(value: 0)
        let goOn = DispatchSemaphore(value: 0)
        let isFree = Atomic(false)
        private let taken = Mutex<[UInt8]>([])

        var text: String { String(decoding: taken.withLock { $0 }, as: UTF8.self) }

        @Sendable func read(_ bytes: [UInt8]) {
            if !isFree.load(ordering: .acquiring) {
                entered.signal()
                goOn.wait()
            }
            taken.withLock { $0 += bytes }
        }
    }

    /// Collects what a logger writes.
    private final class Lines: Sendable {
        let lines = Mutex<[String]>([])
        var all: [String] { lines.withLock { $0 } }
    }

    private func logger(gate: LogGate?) -> (Lines, Logger) {
        let lines = Lines()
        let logger = Logger(label: "l") { label in
            JSONLogHandler(
                label: label,
                level: LogLevelSwitch(.info),
                gate: gate,
                output: { bytes in lines.lines.withLock { $0.append(String(decoding: bytes, as: UTF8.self)) } },
                unixMilliseconds: { 0 }
            )
        }
        return (lines, logger)
    }
}
