import Testing

@testable import LocalPipeline
@testable import belfry_chaos

@Suite("Two owners of a partition whom the broker let send side by side")
struct HandoverTests {
    private static let bounds = Handovers.Bounds(delaySeconds: 3, patienceSeconds: 2)

    /// Seconds of tenures are counted from 100.
    private func tenure(
        _ shard: String = "0",
        from start: Double,
        to end: Double? = nil,
        isCutOff: Bool = false
    ) -> ShardTenure {
        func milliseconds(_ seconds: Double) -> Int { Int((100 + seconds) * 1000) }
        return ShardTenure(
            shard: shard,
            partition: 1,
            start: milliseconds(start),
            end: end.map(milliseconds),
            isCutOff: isCutOff
        )
    }

    /// The seconds, counted from 100, at which something of partition 1 may be mixed.
    private func seconds(
        _ workers: [String: [ShardTenure]],
        restarts: [Handovers.Restart] = [],
        standstills: [Handovers.Standstill] = []
    ) -> [UInt32] {
        let handovers = Handovers(
            workers.map { .init(name: $0.key, tenures: $0.value) },
            restarts: restarts,
            standstills: standstills,
            within: Self.bounds
        )
        for other in [RequestPartition(.normal, 0), .init(.urgent, 1), .init(.bulk, 1)] {
            #expect(!(0...200).contains { handovers.span(other, at: $0) != nil })
        }
        return (100...200).filter { handovers.span(.init(.normal, 1), at: $0) != nil }.map { $0 - 100 }
    }

    @Test("From the next owner's beginning until what the one cut off had sent must have been accepted")
    func cutOff() {
        let next = tenure(from: 10.5)
        #expect(seconds(["a": [tenure(from: 0, to: 10.4, isCutOff: true)], "b": [next]]) == [10, 11, 12, 13])
        #expect(seconds(["a": [tenure(from: 0, to: 8.9, isCutOff: true)], "b": [next]]) == [10, 11])
        #expect(seconds(["a": [tenure(from: 0, to: 6.9, isCutOff: true)], "b": [next]]) == [])
        // From one shard to the other of the same worker.
        let former = tenure(from: 0, to: 10.4, isCutOff: true)
        #expect(seconds(["a": [former, tenure("1", from: 10.5)]]) == [10, 11, 12, 13])
    }

    @Test("Nothing is proven of an owner that could finish, that was killed, or that goes on with the partition")
    func unproven() {
        let next = tenure(from: 10.5)
        #expect(seconds(["a": [tenure(from: 0, to: 10.4)], "b": [next]]) == [])
        #expect(seconds(["a": [tenure(from: 0)], "b": [next]]) == [])
        #expect(seconds(["a": [tenure(from: 0, isCutOff: true)], "b": [next]]) == [])
        #expect(seconds(["a": [tenure(from: 0, to: 10.4, isCutOff: true), next]]) == [])
        #expect(seconds(["a": [tenure(from: 0, to: 10.4, isCutOff: true)]]) == [])
    }

    @Test("An owner that learns of its loss after the next one began is excused by a restart of the broker alone")
    func forgotten() {
        func seconds(lost: Double, _ restarts: [Handovers.Restart]) -> [UInt32] {
            self.seconds(
                ["a": [tenure(from: 0, to: lost, isCutOff: true)], "b": [tenure(from: 10.5)]],
                restarts: restarts
            )
        }
        let restart = Handovers.Restart(began: 108, answered: 109)
        #expect(seconds(lost: 11.2, [restart]) == [10, 11, 12, 13, 14])
        #expect(seconds(lost: 11.2, []) == [])
        // Longer than a worker may send without an answer to its commits.
        #expect(seconds(lost: 12.0, [restart]) == [])
        // Neither forgot the former owner before the next one began.
        #expect(seconds(lost: 11.2, [.init(began: 111, answered: 111)]) == [])
        let late = tenure(from: 9, to: 11.2, isCutOff: true)
        #expect(self.seconds(["a": [late], "b": [tenure(from: 10.5)]], restarts: [restart]) == [])
    }

    @Test("Nothing is excused of a partition whose owner was made to stand still, until well after it goes on")
    func standstill() {
        let workers = [
            "frozen": [tenure(from: 0, to: 20, isCutOff: true)],
            "b": [tenure(from: 10, to: 20.3, isCutOff: true)], "c": [tenure(from: 20.4)],
        ]
        func seconds(_ worker: String, _ start: UInt32, _ end: UInt32?) -> [UInt32] {
            self.seconds(workers, standstills: [.init(worker: worker, start: start, end: end)])
        }
        #expect(self.seconds(workers) == [20, 21, 22, 23])
        #expect(seconds("frozen", 105, 120) == [] && seconds("frozen", 105, nil) == [])
        #expect(seconds("frozen", 105, 114) == [20, 21, 22, 23])
        // It had the partition before the other one stood still, or another one had.
        #expect(seconds("b", 105, 120) == [20, 21, 22, 23])
        #expect(seconds("elsewhere", 105, 120) == [20, 21, 22, 23])
    }

    @Test("A log tells which owner was cut off: its partition was lost, or its commit was refused when it gave it back")
    func tenures() {
        func line(_ second: String, _ message: String, _ shard: String, _ key: String, _ value: String) -> String {
            #"{"time":"1970-01-01T00:00:\#(second)Z","message":"\#(message)","#
                + #""metadata":{"shard":"\#(shard)","\#(key)":"\#(value)"}}"#
        }
        let refusal = "commit of push.requests[0]: Broker: no [ILLEGAL_GENERATION]"
        let log = [
            line("01.000", "partitions assigned", "0", "partitions", "[1, 2, 3]"),
            line("01.000", "partitions assigned", "1", "partitions", "[4]"),
            line("01.500", "commit failed", "0", "error", refusal),
            line("03.000", "partitions revoked", "0", "partitions", "[1]"),
            line("03.000", "partitions revoked", "1", "partitions", "[4]"),
            line("03.100", "commit failed", "1", "error", "elsewhere [ILLEGAL_GENERATION] and [_TIMED_OUT]"),
            line("04.000", "partitions assigned", "1", "partitions", "[1]"),
            line("05.000", "partitions lost", "0", "partitions", "[2]"),
            line("06.000", "partitions revoked", "1", "partitions", "[1]"),
            line("06.200", "commit failed", "1", "error", "commit: Broker: who? [UNKNOWN_MEMBER_ID]"),
            line("07.000", "partitions assigned", "1", "partitions", "[1]"),
            line("08.000", "commit failed", "1", "error", refusal),
            line("08.001", "partitions revoked", "1", "partitions", "[1]"),
        ].joined(separator: "\n")
        #expect(
            WorkerLog.tenures(in: log) == [
                .init(shard: "0", partition: 1, start: 1000, end: 3000),
                .init(shard: "0", partition: 2, start: 1000, end: 5000, isCutOff: true),
                .init(shard: "0", partition: 3, start: 1000),
                .init(shard: "1", partition: 4, start: 1000, end: 3000),
                .init(shard: "1", partition: 1, start: 4000, end: 6000, isCutOff: true),
                .init(shard: "1", partition: 1, start: 7000, end: 8001, isCutOff: true),
            ]
        )
    }
}

@Suite("Order where two owners' acceptances came side by side")
struct MixedOrderTests {
    private func audit(_ accepted: [UInt32], mixed: Range<Int>) -> OrderAudit {
        OrderAudit(accepted, handover: { mixed.contains($0) ? mixed.lowerBound : nil })
    }

    /// One owner has sent 1 to 6, of which 4 and 5 come between the other's 1 and 2, and 6 between 3 and 4.
    private static let mixed: [UInt32] = [1, 2, 3, 1, 4, 5, 2, 3, 6, 4, 5, 6, 7]

    @Test("Each one's row is whole: the other's is no violation, and what it seems to leave out is counted")
    func whole() {
        let found = audit(Self.mixed, mixed: 3..<9)
        #expect(found.violations.isEmpty && found.isLateOnly && found.late == 0 && found.handedOver == 4)
    }

    @Test("Without two owners, or at another time, the same is a violation")
    func elsewhere() {
        let plain = OrderAudit(Self.mixed)
        #expect(plain.violations == [.cutShort(after: 1, by: 4), .cutShort(after: 3, by: 6)] && plain.late == 4)
        #expect(plain.handedOver == 0)
        #expect(audit(Self.mixed, mixed: 0..<2).violations == plain.violations)
        #expect(audit(Self.mixed, mixed: 8..<9).violations == [.cutShort(after: 1, by: 4)])
        #expect(audit(Self.mixed, mixed: 10..<13).violations == plain.violations)
    }

    @Test("The former owner's last may come behind what the next one has sent anew")
    func behind() {
        for accepted in [[1, 2, 3, 1, 2, 3, 4, 2, 3, 5], [1, 2, 3, 1, 2, 3, 4, 3]] as [[UInt32]] {
            #expect(!OrderAudit(accepted).violations.isEmpty)
            #expect(audit(accepted, mixed: 3..<9).violations.isEmpty)
            #expect(audit(accepted, mixed: 3..<9).handedOver == 1)
        }
    }

    @Test("What neither of them has sent since the next one began is left out, and nothing excuses overtaking")
    func notWhole() {
        // The next owner begins with 2, and never sends 3.
        #expect(audit([1, 2, 3, 4, 2, 4, 5], mixed: 4..<7).violations == [.hole(after: 2, before: 4)])
        #expect(audit([1, 2, 3, 4, 2, 5], mixed: 4..<6).violations == [.cutShort(after: 2, by: 5)])
        #expect(audit([1, 2, 3, 2], mixed: 3..<4).violations == [.staleLast(2, newest: 3)])
        #expect(audit([1, 3, 2, 3], mixed: 0..<4).violations == [.overtaken(number: 2, by: 3)])
    }
}
