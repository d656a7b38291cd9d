import PushSchemas
import Testing
import Workbench

@testable import belfry_bench

@Suite("Urgent notifications beside a backlog in bulk")
struct LanesTests {
    private static let tokens: [[UInt8]] = {
        var random = SeededGenerator(seed: 7)
        return (0..<20_000).map { _ in random.bytes(32) }
    }()

    private static let keys = LaneKeys(bundleID: "a.b", tokens: tokens, partitions: 200)

    /// A result at its targets.
    private static let kept: LanesReport = {
        var report = LanesReport(transport: .http2, backlog: 1, partitions: 96, answerDelayMilliseconds: 40)
        report.p50Milliseconds = 50
        report.p99Milliseconds = 250
        report.takeoverSeconds = 10
        report.bulkRatios.add(0.95)
        report.bulkShare = 0.1
        report.duplicates = 9
        return report
    }()

    private func missed(_ change: (inout LanesReport) -> Void) -> [String] {
        var report = Self.kept
        change(&report)
        return report.missed
    }

    @Test("Each target is missed by itself, and by what was not measured")
    func targets() {
        #expect(Self.kept.missed == [])
        #expect(missed { $0.p50Milliseconds = 50.1 } == ["urgent_p50_ms"])
        #expect(missed { $0.p99Milliseconds = 251 } == ["urgent_p99_ms"])
        #expect(missed { $0.takeoverSeconds = 10.1 } == ["urgent_takeover_seconds"])
        #expect(missed { $0.bulkRatios.add(0.947) } == ["bulk_ratio"], "the mean of two")
        #expect(missed { $0.bulkShare = 0.099 } == ["bulk_share"])
        #expect(missed { $0.lost = 1 } == ["lost"])
        let nothing = LanesReport(transport: .binary, backlog: 1, partitions: 96, answerDelayMilliseconds: 40)
        #expect(nothing.missed.count == 5)
    }

    @Test("The line has the judgement and the targets, and every field of it stands in the help")
    func line() throws {
        let line = try Self.kept.line()
        #expect(try LanesReport.fields.unexplained(inLine: line) == [])
        #expect(line.contains(#""missed":[],"partitions":96,"passed":true,"scenario":"lanes","#))
        #expect(
            line.contains(
                #""targets":{"bulk_ratio":0.95,"bulk_share":0.1,"lost":0,"urgent_p50_ms":50,"urgent_p99_ms":250,"#
                    + #""urgent_takeover_seconds":10},"transport":"http2","#
            )
        )
        #expect(line.contains(#""urgent_takeover_seconds":10"#))
    }

    @Test("The default backlog fits the embedded broker, as the help says, and more is an error unless Kafka is named")
    func backlog() throws {
        #expect((11_960_000..<11_970_000).contains(RecordStream.kept(of: LanesScenario.app, partitions: 96)))
        _ = try RunCommand.parseAsRoot(["lanes"])
        let more = ["lanes", "--backlog", "20000000"]
        #expect(throws: (any Error).self) { try RunCommand.parseAsRoot(more) }
        _ = try RunCommand.parseAsRoot(more + ["--partitions", "300"])
        _ = try RunCommand.parseAsRoot(more + ["--kafka", "localhost:9092"])
        for wrong in ["--backlog 10000001", "--flood 1", "--transport pigeon", "--urgent-percent 0", "--probes 1"] {
            #expect(throws: (any Error).self) {
                try RunCommand.parseAsRoot(["lanes"] + wrong.split(separator: " ").map(String.init))
            }
        }
    }

    @Test("Keys have the tokens that have them by the contract, and lead to their partitions")
    func keys() {
        let all = Self.keys.places.flatMap { $0 }
        #expect(all.reduce(0) { $0 + $1.count } == Self.tokens.count)
        #expect(Self.keys.places.count == LaneKeys.usedPartitions(of: "a.b", among: 200))
        #expect(Self.keys.places.allSatisfy { place in Set(place.map(\.partition)).count == 1 && !place.isEmpty })
        for key in all {
            let name = String(decoding: key.name, as: UTF8.self)
            #expect(KafkaPartitioner.murmur2Partition(key: name, count: 200) == key.partition)
            let shard = key.slice(0..<1).withUnsafeBytes { RecordKey.shard(of: $0, spread: LaneKeys.spread) }
            #expect(name == "a.b#\(shard)")
        }
    }

    @Test("Records fill partitions evenly, and in each its keys")
    func even() {
        let places = Self.keys.places
        var counts: [[Int]: Int] = [:]
        for number in 0..<places.count * 60 {
            let (place, key) = Self.keys.key(ofRecord: number)
            counts[[place, key], default: 0] += 1
        }
        for (place, keys) in places.enumerated() {
            let ofKeys = keys.indices.map { counts[[place, $0]] ?? 0 }
            #expect(ofKeys.reduce(0, +) == 60)
            #expect((ofKeys.max() ?? 0) - (ofKeys.min() ?? 0) <= 1)
        }
    }

    @Test("A record that is made once gets another number each time, and nothing else of it changes")
    func numbers() throws {
        let tokens = Array(Self.tokens.prefix(3).joined())
        var request = try NumberedRequest(tokens: tokens, title: "before 7")
        for number in [0, 4711, 1_147_483_647] {
            request.setNumber(number)
            let message = try PushSendRequest(serializedBytes: request.value)
            #expect(Array(message.packedTokens) == tokens)
            let payload = #"{"aps":{"alert":{"title":"before 7","body":"Code"}},"n":\#(1_000_000_000 + number)}"#
            #expect(message.payloadJson == payload)
        }
    }
}

@Suite("Slices of a backlog")
struct BacklogSliceTests {
    /// Slices of a thousand, with a look every ten notifications.
    ///
    /// - Parameters:
    ///   - alone: notifications a second while nothing urgent is published.
    ///   - beside: and while something is.
    private func slices(alone: Double, beside: Double, to end: Int = 12_000) -> BacklogSlices {
        var slices = BacklogSlices(from: 0, to: 12_000, now: 0)
        var (accepted, now) = (0, 0.0)
        while accepted < end {
            let rate = slices.current == .beside ? beside : alone
            accepted += 10
            now += 10 / rate * 1e9
            slices.note(accepted: accepted, now: Int64(now))
        }
        return slices
    }

    @Test("The ratio is that of neighbours, and each slice with urgent notifications has one without beside it")
    func ratio() {
        for index in stride(from: 1, to: 9, by: 2) {
            #expect(Set(BacklogSlices.kinds[index...index + 1].map { "\($0)" }) == ["alone", "beside"])
        }
        let slices = slices(alone: 1000, beside: 900)
        #expect(abs(slices.ratios.median - 0.9) < 0.01)
        #expect(slices.rates(.alone).values.count == 4 && slices.rates(.beside).values.count == 4)
        #expect(abs(slices.rates(.alone).median - 1000) < 10 && slices.current == .rest)
    }

    @Test("Nothing is told of slices that are not over, and bounds between two looks are estimated")
    func open() {
        #expect(slices(alone: 1000, beside: 900, to: 1990).ratios.values.isEmpty)
        #expect(slices(alone: 1000, beside: 900, to: 1990).rates(.alone).values.isEmpty)
        var coarse = BacklogSlices(from: 4000, to: 16_000, now: 0)
        #expect(coarse.current == .warmUp)
        // One look for two and a half slices in five seconds.
        coarse.note(accepted: 6500, now: 5_000_000_000)
        #expect(coarse.current == .beside)
        #expect(coarse.rates(.alone).values == [500])
        coarse.note(accepted: 6500, now: 6_000_000_000)
        coarse.note(accepted: 16_000, now: 7_000_000_000)
        #expect(coarse.current == .rest)
    }
}

@Suite("The times of urgent notifications")
struct ProbeLedgerTests {
    private static func counts(_ series: ProbeLedger.Series, _ counts: [Int]) -> [String: Int] {
        let titled = counts.enumerated().map { (ProbeLedger.title(series, place: $0), $1) }
        return Dictionary(uniqueKeysWithValues: titled)
    }

    @Test("The n-th that is accepted of a place is the n-th that was published; those count that were to be measured")
    func times() {
        var ledger = ProbeLedger(places: 2)
        #expect(ledger.publish(0, now: 10) == .beforeKill)
        ledger.isMeasuring = true
        _ = ledger.publish(0, now: 20)
        _ = ledger.publish(1, now: 30)
        ledger.note(Self.counts(.beforeKill, [1, 0]), now: 100)
        #expect(ledger.nanoseconds == [] && ledger.outstanding == 2)
        ledger.note(Self.counts(.beforeKill, [2, 0]), now: 120)
        ledger.note(Self.counts(.beforeKill, [2, 5]), now: 150)
        #expect(ledger.nanoseconds == [100, 120] && ledger.outstanding == 0)
        #expect(ledger.takeoverSeconds(of: [0]) == nil)
    }

    @Test("A place is taken over when something published after the kill was accepted, and the last place counts")
    func takeover() {
        var ledger = ProbeLedger(places: 3)
        _ = ledger.publish(0, now: 10)
        ledger.interrupt(now: 1_000_000_000)
        #expect(ledger.publish(0, now: 1_100_000_000) == .afterKill)
        // Sent by the killed worker, and repeated by the next one.
        ledger.note(Self.counts(.beforeKill, [3, 1, 1]), now: 2_000_000_000)
        #expect(ledger.takeoverSeconds(of: [0, 1]) == nil)
        ledger.note(Self.counts(.afterKill, [1]), now: 4_000_000_000)
        ledger.note(Self.counts(.afterKill, [2, 1]), now: 7_000_000_000)
        #expect(ledger.takeoverSeconds(of: [0]) == 3 && ledger.takeoverSeconds(of: [0, 1]) == 6)
        #expect(ledger.takeoverSeconds(of: [0, 1, 2]) == nil)
    }
}
