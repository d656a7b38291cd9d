import Foundation
import PushSchemas
import TestSupport
import Testing

@testable import BelfryTools

/// The counts of `belfry publish --wait`.
@Suite struct AwaitedOutcomesTests {
    @Test("Every token counts once, however often its outcome comes, and in any order")
    func once() {
        var random = SeededGenerator(seed: 2)
        for _ in 0..<30 {
            var awaited = awaiting([(0, 7, 100), (1, 7, 3), (0, 8, 64)])
            var outcomes: [PushOutcome] = []
            for (partition, offset, tokens) in [(0, 7, 100), (1, 7, 3), (0, 8, 64)] {
                for index in 0..<tokens {
                    let kind: PushOutcomeKind = index % 10 == 0 ? .rejected : .confirmed
                    outcomes.append(outcome(partition, offset, index, kind))
                }
            }
            for index in outcomes.indices.reversed() { outcomes.swapAt(index, random.pick(0...index)) }
            for (index, outcome) in outcomes.enumerated() {
                #expect(awaited.missing == 167 - index)
                awaited.takeOutcome(outcome)
                awaited.takeOutcome(outcomes[random.pick(0...index)])
            }
            #expect(awaited.isComplete)
            #expect(awaited.failed == 10 + 1 + 7)
            #expect(text(awaited) == "149  confirmed  -\n18  rejected  -\n")
        }
    }

    @Test("A summary is the outcome of all tokens of its record, once")
    func summary() {
        var awaited = awaiting([(0, 7, 5), (0, 8, 2)])
        var summary = outcome(0, 7, 0, .summary)
        summary.counts = [
            .with {
                $0.kind = .confirmed
                $0.tokens = 3
            },
            .with {
                $0.kind = .expired
                $0.tokens = 2
            },
        ]
        awaited.takeOutcome(summary)
        awaited.takeOutcome(summary)
        #expect(awaited.missing == 2 && awaited.failed == 2)
        #expect(text(awaited) == "3  confirmed  -\n2  expired  -\n")
    }

    @Test("Outcomes of other records and topics, and of tokens that are not there, do not count")
    func others() {
        var awaited = awaiting([(0, 7, 2)])
        awaited.takeOutcome(outcome(0, 6, 0, .confirmed))
        awaited.takeOutcome(outcome(1, 7, 0, .confirmed))
        awaited.takeOutcome(outcome(0, 7, 2, .confirmed))
        var foreign = outcome(0, 7, 0, .confirmed)
        foreign.sourceTopic = "other"
        awaited.takeOutcome(foreign)
        #expect(awaited.missing == 2)
    }

    @Test("A record whose place in Kafka is unknown is known by its request id")
    func unplaced() {
        var awaited = awaiting([(-1, -1, 2), (0, 7, 1)])
        var foreign = outcome(3, 8, 0, .confirmed)
        foreign.requestID = "other"
        awaited.takeOutcome(foreign)
        awaited.takeOutcome(outcome(3, 9, 0, .confirmed))
        awaited.takeOutcome(outcome(3, 9, 0, .confirmed))
        awaited.takeOutcome(outcome(0, 7, 0, .confirmed))
        #expect(awaited.missing == 1)
        awaited.takeOutcome(outcome(3, 9, 1, .confirmed))
        #expect(awaited.isComplete && awaited.failed == 0)
    }

    @Test("A dead letter without a token, of a record that could not be read, is the outcome of all its tokens")
    func unreadable() {
        var awaited = awaiting([(0, 7, 500)])
        var refused = outcome(0, 7, 0, .deadLettered)
        refused.requestID = ""
        refused.token = Data()
        awaited.takeOutcome(refused)
        #expect(awaited.isComplete && awaited.failed == 500)
        #expect(text(awaited) == "500  dead_lettered  -\n")
    }

    @Test("An outcome of a kind that is not known counts as a failure")
    func unknownKind() {
        var awaited = awaiting([(0, 7, 1)])
        awaited.takeOutcome(outcome(0, 7, 0, .UNRECOGNIZED(99)))
        #expect(awaited.isComplete && awaited.failed == 1)
    }

    @Test("Of each partition the first record without all its outcomes is known")
    func unfinished() {
        var awaited = awaiting([(0, 7, 1), (0, 9, 2), (1, 3, 1), (-1, -1, 1)])
        #expect(awaited.unfinished == [0: 7, 1: 3])
        awaited.takeOutcome(outcome(0, 7, 0, .confirmed))
        awaited.takeOutcome(outcome(0, 9, 1, .confirmed))
        awaited.takeOutcome(outcome(1, 3, 0, .confirmed))
        #expect(awaited.unfinished == [0: 9])
    }

    @Test("A wait without outcomes looks for an obstacle at growing intervals, and tells each one once")
    func obstacles() {
        let start = ContinuousClock.now
        func after(_ seconds: Int) -> ContinuousClock.Instant { start + .seconds(seconds) }
        var watch = ObstacleWatch(now: start)
        #expect(!watch.isDue(now: after(4)) && watch.isDue(now: after(5)))
        #expect(watch.looked("paused", now: after(6)) == "paused")
        #expect(!watch.isDue(now: after(15)) && watch.isDue(now: after(16)))
        #expect(watch.looked("paused", now: after(16)) == nil)
        #expect(watch.looked(nil, now: after(20)) == nil)
        #expect(watch.looked("paused", now: after(30)) == "paused", "it is paused again")
        for second in [100, 200, 300] { _ = watch.looked("paused", now: after(second)) }
        #expect(!watch.isDue(now: after(359)) && watch.isDue(now: after(360)))
        watch.came(now: after(360))
        #expect(!watch.isDue(now: after(364)) && watch.isDue(now: after(365)))
        #expect(watch.looked("paused", now: after(365)) == nil, "outcomes in between make it no news")
    }

    private func awaiting(_ records: [(Int32, Int64, Int)]) -> AwaitedOutcomes {
        var awaited = AwaitedOutcomes(topic: "push.requests")
        awaited.requestID = "r"
        for (partition, offset, tokens) in records {
            awaited.expect(partition: partition, offset: offset, tokens: tokens)
        }
        return awaited
    }

    private func outcome(_ partition: Int, _ offset: Int, _ index: Int, _ kind: PushOutcomeKind) -> PushOutcome {
        .with {
            $0.sourceTopic = "push.requests"
            $0.sourcePartition = Int32(partition)
            $0.sourceOffset = Int64(offset)
            $0.tokenIndex = UInt32(index)
            $0.kind = kind
            $0.requestID = "r"
            $0.token = Data(repeating: 1, count: 32)
        }
    }

    private func text(_ awaited: AwaitedOutcomes) -> String {
        String(decoding: awaited.counts.lines(asJSON: false), as: UTF8.self)
    }
}
