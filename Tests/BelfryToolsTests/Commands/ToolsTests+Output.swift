import Foundation
import Logging
import PushSchemas
import Synchronization
import Testing

@testable import BelfrySupport
@testable import BelfryTools

@Suite("Lines the tools and the log write")
struct OutputTests {
    @Test("A line is JSON that says the values again, whatever characters they have")
    func json() throws {
        let hostile = "\"\\/\u{8}\u{c}\n\r\t\u{0}\u{1f}\u{7f} äöü 🚀 \u{2028}"
        var inner = JSONLine()
        inner.append("x", -1)
        var line = JSONLine()
        line.append(hostile, hostile)
        line.append("number", UInt64.max)
        line.append("flag", true)
        line.append("object", inner)
        line.append("list", [inner, JSONLine()])
        #expect(!line.text.contains("\n"))
        let object = try #require(try JSONSerialization.jsonObject(with: Data(line.text.utf8)) as? [String: Any])
        #expect(object[hostile] as? String == hostile)
        #expect((object["number"] as? NSNumber)?.uint64Value == UInt64.max)
        #expect(object["flag"] as? Bool == true)
        #expect((object["object"] as? [String: Any])?["x"] as? Int == -1)
        #expect((object["list"] as? [[String: Any]])?.count == 2)
        #expect(line.line == Array((line.text + "\n").utf8))
    }

    @Test(
        "A time is RFC 3339 in UTC",
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"), (1_366_709_400_250, "2013-04-23T09:30:00.250Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"), (4_107_542_399_999, "2100-02-28T23:59:59.999Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
        ] as [(Int64, String)]
    )
    func times(milliseconds: Int64, expected: String) {
        #expect(UTCTimestamp.text(unixMilliseconds: milliseconds) == expected)
    }

    @Test("A log line has the time, level, logger, message and sorted metadata")
    func logLine() {
        let lines = Lines()
        var logger = lines.logger(label: "belfry.worker")
        logger[metadataKey: "shard"] = "1"
        logger.warning(
            "topic stopped",
            metadata: ["topic": "com.example.news", "addresses": ["a", "b"], "cause": ["status": "3"]]
        )
        #expect(
            lines.all == [
                #"{"time":"2013-04-23T09:30:00.250Z","level":"warning","logger":"belfry.worker","#
                    + #""message":"topic stopped","metadata":{"addresses":"a,b","cause":{"status":"3"},"shard":"1","#
                    + #""topic":"com.example.news"}}"# + "\n"
            ]
        )
    }

    @Test("Metadata of the call wins over the logger's, and what is below the level is not written")
    func levels() {
        let lines = Lines()
        var logger = lines.logger(label: "l")
        logger[metadataKey: "k"] = "logger"
        logger.debug("not written")
        logger.info("written", metadata: ["k": "call"])
        #expect(lines.all.count == 1)
        #expect(lines.all[0].contains(#""metadata":{"k":"call"}"#))
        logger.logLevel = .debug
        logger.debug("written now")
        #expect(lines.all.count == 2)
    }

    @Test("A line without metadata has none, and a line break in a message does not break the line")
    func plain() {
        let lines = Lines()
        lines.logger(label: "l").info("two\nlines")
        #expect(lines.all[0].hasSuffix(#""message":"two\nlines"}"# + "\n"))
    }

    @Test("Every level of the configuration is one of the log's")
    func logLevels() {
        #expect(LogLevel.allCases.map { Logger.Level($0).rawValue } == LogLevel.allCases.map(\.rawValue))
        #expect(LogLevel.allCases.map { Logger.Level($0) } == Logger.Level.allCases)
    }

    @Test("An outcome is printed with what applies to it, and nothing else")
    func outcome() {
        let rejected = PushOutcome.with {
            $0.sourceTopic = "push.requests"
            $0.sourcePartition = 3
            $0.sourceOffset = 42
            $0.tokenIndex = 7
            $0.bundleID = "com.example.news"
            $0.environment = "sandbox"
            $0.token = Data([0xAB, 0x01])
            $0.kind = .rejected
            $0.status = 8
            $0.reason = "invalid-token"
            $0.requestID = "r-1"
            $0.decidedAtMs = 1_366_709_400_250
        }
        #expect(
            OutcomeLine(rejected).json.text
                == #"{"outcome":"rejected","source":{"topic":"push.requests","partition":3,"#
                + #""offset":42,"token_index":7},"#
                + #""bundle":"com.example.news","environment":"sandbox","token":"ab01","status":8,"#
                + #""reason":"invalid-token","request_id":"r-1","decided_at":"2013-04-23T09:30:00.250Z"}"#
        )
        #expect(
            OutcomeLine(rejected).text
                == "2013-04-23T09:30:00.250Z  rejected  com.example.news  ab01  status 8, invalid-token  r-1  "
                + "push.requests[3]@42#7"
        )
        #expect(
            OutcomeLine(PushOutcome()).text == "1970-01-01T00:00:00.000Z  unspecified  -  -  -  -  [0]@0#0",
            "as many columns for every outcome"
        )
        var blind = rejected
        blind.withoutTokenState = true
        #expect(OutcomeLine(blind).json.text.contains(#""request_id":"r-1","without_token_state":true,"#))
        #expect(OutcomeLine(blind).text.contains("  status 8, invalid-token, without token state  r-1  push"))
        let bare = OutcomeLine(PushOutcome.with { $0.kind = .presumed }).json.text
        #expect(
            !bare.contains("without") && !bare.contains("status") && !bare.contains("reason")
                && !bare.contains("\"token\":")
        )
    }

    @Test("Nothing that a publisher says moves the cursor or looks like another column")
    func hostileOutcome() {
        let outcome = PushOutcome.with {
            $0.bundleID = "b\u{7}"
            $0.reason = "r\u{1b}[2J"
            $0.warning = "w\u{2028}\u{202E}"
            $0.requestID = "id\n  confirmed\u{9b}2J"
            $0.sourceTopic = "t\r"
        }
        let text = OutcomeLine(outcome).text
        #expect(
            text == "1970-01-01T00:00:00.000Z  unspecified  b·  -  r·[2J, w··  id· ·confirmed·2J  t·[0]@0#0",
            "\(text)"
        )
        var counts = OutcomeCounts()
        counts.count(outcome)
        #expect(String(decoding: counts.lines(asJSON: false), as: UTF8.self) == "1  unspecified  r·[2J\n")
    }

    @Test("Every kind of outcome has the name of the design")
    func kinds() {
        let names = PushOutcomeKind.allCases.map { kind in OutcomeLine(.with { $0.kind = kind }).kind }
        #expect(
            names == [
                "unspecified", "confirmed", "presumed", "unknown", "rejected", "tombstoned", "expired", "superseded",
                "duplicate", "dead_lettered", "summary", "aborted",
            ]
        )
        #expect(OutcomeLine(.with { $0.kind = .UNRECOGNIZED(99) }).kind == "unrecognized_99")
    }

    /// Collects what a logger writes.
    private final class Lines: Sendable {
        private let lines = Mutex<[String]>([])

        var all: [String] { lines.withLock { $0 } }

        func logger(label: String) -> Logger {
            Logger(label: label) { label in
                JSONLogHandler(
                    label: label,
                    output: { bytes in self.lines.withLock { $0.append(String(decoding: bytes, as: UTF8.self)) } },
                    unixMilliseconds: { 1_366_709_400_250 }
                )
            }
        }
    }
}
