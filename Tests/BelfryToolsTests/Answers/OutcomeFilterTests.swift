import BelfrySupport
import Foundation
import KafkaClient
import Logging
import PushSchemas
import PushTopics
import Synchronization
import Testing

@testable import BelfryTools

/// The outcomes that `belfry outcomes` shows, and its counts.
@Suite struct OutcomeFilterTests {
    private let goal = PushOutcome.with {
        $0.bundleID = "com.example.news"
        $0.token = Data([1, 2])
        $0.requestID = "r-1"
        $0.kind = .confirmed
        $0.decidedAtMs = 1000
    }

    @Test("An outcome is shown if it fits everything that is set")
    func filters() {
        func admits(_ set: (inout OutcomeFilter) -> Void) -> Bool {
            var filter = OutcomeFilter()
            set(&filter)
            return filter.admits(goal)
        }
        #expect(admits { _ in })
        #expect(admits { $0.bundleIDs = ["com.example.sport", "com.example.news"] })
        #expect(!admits { $0.bundleIDs = ["com.example"] })
        #expect(admits { $0.tokens = [[1, 2]] } && !admits { $0.tokens = [[1]] })
        #expect(admits { $0.requestIDs = ["r-1"] } && !admits { $0.requestIDs = ["r-2"] })
        #expect(admits { $0.kinds = [.presumed, .confirmed] } && !admits { $0.kinds = [.rejected] })
        #expect(!admits { $0.onlyFailures = true })
        #expect(admits { $0.since = 1000 } && !admits { $0.since = 1001 })
        #expect(
            !admits {
                $0.requestIDs = ["r-1"]
                $0.kinds = [.rejected]
            }
        )
    }

    @Test("Failures are the kinds that did not arrive, and unknown kinds")
    func failures() {
        var filter = OutcomeFilter()
        filter.onlyFailures = true
        for kind in OutcomeKind.allCases {
            #expect(filter.admits(.with { $0.kind = kind.message }) == kind.isFailure, "\(kind)")
        }
        #expect(filter.admits(.with { $0.kind = .UNRECOGNIZED(99) }))
    }

    private let summary = PushOutcome.with {
        $0.bundleID = "com.example.news"
        $0.kind = .summary
        $0.counts = [
            .with {
                $0.kind = .confirmed
                $0.tokens = 498
            },
            .with {
                $0.kind = .rejected
                $0.tokens = 2
            },
        ]
    }

    @Test("A summary is shown if some of its tokens have an outcome that is")
    func summaries() {
        var filter = OutcomeFilter()
        filter.kinds = [.rejected]
        #expect(filter.admits(summary))
        filter.kinds = [.expired]
        #expect(!filter.admits(summary))
        filter.kinds = []
        filter.onlyFailures = true
        #expect(filter.admits(summary) && !filter.admits(.with { $0.kind = .summary }))
    }

    @Test("The tokens of a summary count for the outcomes that are shown, beside single ones")
    func summaryCounts() {
        var counts = OutcomeCounts()
        counts.count(goal)
        counts.count(summary)
        #expect(String(decoding: counts.lines(asJSON: false), as: UTF8.self) == "499  confirmed  -\n2  rejected  -\n")
        var failures = OutcomeCounts()
        var filter = OutcomeFilter()
        filter.onlyFailures = true
        failures.count(summary, filter)
        #expect(String(decoding: failures.lines(asJSON: false), as: UTF8.self) == "2  rejected  -\n")
    }

    @Test("A summary's line has its numbers")
    func summaryLine() {
        let line = OutcomeLine(summary)
        #expect(line.json.text.contains(#""outcome":"summary""#))
        #expect(line.json.text.contains(#""counts":{"confirmed":498,"rejected":2}"#))
        #expect(line.text.contains("confirmed 498, rejected 2"))
    }

    @Test("Counts are by kind, status and reason, the most frequent first")
    func counts() {
        var counts = OutcomeCounts()
        for _ in 0..<3 { counts.count(goal) }
        let rejected = PushOutcome.with {
            $0.kind = .rejected
            $0.status = 410
            $0.reason = "Unregistered"
        }
        counts.count(rejected)
        #expect(
            String(decoding: counts.lines(asJSON: false), as: UTF8.self)
                == "3  confirmed  -\n1  rejected  status 410, Unregistered\n"
        )
        #expect(
            String(decoding: counts.lines(asJSON: true), as: UTF8.self)
                == #"{"outcome":"confirmed","count":3}"# + "\n"
                + #"{"outcome":"rejected","status":410,"reason":"Unregistered","count":1}"# + "\n"
        )
    }

    @Test("A follower that ends at the end shows what is there, and one that counts shows counts alone")
    func ends() async throws {
        let broker = try EmbeddedBroker(topics: [(name: "push.outcomes", partitions: 3)])
        defer { broker.close() }
        var settings = KafkaSettings()
        settings.brokers = broker.bootstrapServers
        let producer = try KafkaProducer(properties: settings.producerProperties(clientID: "test"))
        for (index, kind) in [PushOutcomeKind.confirmed, .rejected, .confirmed].enumerated() {
            let value: [UInt8] = try PushOutcome.with {
                $0.kind = kind
                $0.decidedAtMs = UTCTimestamp.now()
            }.serializedBytes()
            try producer.produce(topic: "push.outcomes", partition: Int32(index / 2), key: nil, value: value)
        }
        try producer.flush(timeoutMilliseconds: 10_000)
        producer.close()
        func shown(_ set: (inout OutcomeFollower.View) -> Void) async throws -> [String] {
            var view = OutcomeFollower.View()
            view.start = .beginning
            view.endsAtEnd = true
            set(&view)
            let lines = Mutex<[UInt8]>([])
            let follower = OutcomeFollower(settings, view) { bytes in
                lines.withLock { $0 += bytes }
                return true
            }
            try await RoleRunner.run(follower, logger: Logger(label: "test"))
            return lines.withLock { String(decoding: $0, as: UTF8.self) }.split(separator: "\n").map(String.init)
        }
        #expect(try await shown { _ in }.count == 3)
        #expect(try await shown { $0.filter.kinds = [.rejected] }.count == 1)
        #expect(try await shown { $0.onlyCounts = true } == ["2  confirmed  -", "1  rejected  -"])
        // The embedded broker calls every record older than any time.
        #expect(try await shown { $0.filter.since = UTCTimestamp.now() - 600_000 }.count == 3)
        #expect(try await shown { $0.filter.since = UTCTimestamp.now() + 600_000 }.isEmpty)
    }
}
