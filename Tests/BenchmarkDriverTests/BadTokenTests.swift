import PushSchemas
import Testing
import Workbench

@testable import belfry_bench

@Suite("Bad tokens among good ones")
struct BadTokenTests {
    private static let devices: [[UInt8]] = {
        var random = SeededGenerator(seed: 5)
        return (0..<5000).map { _ in random.bytes(32) }
    }()

    /// Of so many partitions some have no key.
    private static let places = BadTokenMix.Places(bundleID: "a.b", partitions: 200, lanes: 2)

    private func mix(_ percent: Double, seed: UInt64 = 1) -> BadTokenMix {
        BadTokenMix(
            seed: seed,
            notifications: 20_000,
            invalidPercent: percent,
            devices: Self.devices,
            places: Self.places
        )
    }

    @Test("Each distinct bad token occurs twenty times, and their share is what was asked for", arguments: [0.1, 1, 5])
    func occurrences(percent: Double) {
        let mix = mix(percent)
        let good = Set(Self.devices)
        var bad: [[UInt8]: Int] = [:]
        var goods = 0
        for token in mix.records.flatMap(\.tokens) {
            if good.contains(token) { goods += 1 } else { bad[token, default: 0] += 1 }
        }
        #expect(bad.count == mix.distinctBad)
        #expect(bad.values.allSatisfy { $0 == BadTokenMix.occurrences })
        #expect(goods == mix.good)
        #expect(mix.total == 20_000)
        #expect(mix.distinctBad == Int(percent * 10))
    }

    @Test("Bad tokens are spread evenly over the places that a worker's connections share", arguments: [0.8, 60])
    func even(percent: Double) {
        let good = Set(Self.devices)
        let bad = Set(mix(percent).records.flatMap(\.tokens)).subtracting(good)
        let counts = Dictionary(grouping: bad, by: Self.places.place(of:)).mapValues(\.count)
        #expect(counts.values.reduce(0, +) == bad.count)
        let all = Self.places.all
        #expect((200..<400).contains(all.count) && Set(all).isSuperset(of: counts.keys))
        #expect(counts.values.allSatisfy { (bad.count / all.count...bad.count / all.count + 1).contains($0) })
        #expect(counts.count == min(all.count, bad.count))
    }

    @Test("A record holds tokens of one key, a hundred at most, none twice")
    func records() {
        for record in mix(5).records {
            #expect((1...BadTokenMix.tokensPerRecord).contains(record.tokens.count))
            #expect(Set(record.tokens).count == record.tokens.count)
            #expect(
                record.tokens.allSatisfy { token in
                    token.withUnsafeBytes { RecordKey.shard(of: $0, spread: BadTokenMix.spread) } == record.shard
                }
            )
        }
    }

    @Test("The same seed makes the same records, another one others; without bad tokens all are good")
    func seeded() {
        #expect(mix(1).records == mix(1).records)
        #expect(mix(1).records != mix(1, seed: 2).records)
        #expect(mix(0).good == 20_000)
    }

    private static func round(good: Double, clean: Double = 200_000) -> BadTokenReport.Round {
        BadTokenReport.Round(
            cleanRate: clean,
            goodRate: good,
            duplicates: 0,
            connects: 54,
            connectsAfter: 0,
            refused: 50,
            discarded: 700
        )
    }

    private let report = BadTokenReport(
        invalidPercent: 1,
        answerDelayMilliseconds: 50,
        notifications: 100_000,
        good: 99_000,
        distinctBad: 50,
        connections: 4,
        handshakeSeconds: 0.01,
        rounds: [Self.round(good: 90_000)]
    )

    @Test("The bound adds the time for which bad tokens hold the connections up to that of the clean run")
    func bound() {
        // 0.495 s, and 50 × 60 ms on four connections.
        #expect(abs(report.boundRatio - 0.495 / (0.495 + 0.75)) < 1e-9)
        var clean = report
        clean.distinctBad = 0
        #expect(clean.boundRatio == 1)
        var none = report
        none.rounds = []
        #expect(none.goodputRatio == 0 && none.efficiency == 0 && !none.meetsTargets)
    }

    @Test("Each run is held against the clean one of its round, and the median counts")
    func pairs() {
        var report = report
        report.distinctBad = 0
        // A machine that is three times as fast for a round, and a round that went wrong.
        report.rounds = [
            Self.round(good: 90_000, clean: 100_000), Self.round(good: 270_000, clean: 300_000),
            Self.round(good: 10_000, clean: 100_000),
        ]
        #expect(abs(report.efficiency - 0.9) < 1e-9 && abs(report.goodputRatio - 0.9) < 1e-9)
    }

    @Test(
        "Four fifths of the bound, no duplicate, and a connection per bad token beside the initial ones are the targets"
    )
    func targets() {
        var report = report
        report.rounds[0].goodRate = 0.8 * report.boundRatio * 200_000 + 1
        #expect(report.meetsTargets)
        var slow = report
        slow.rounds[0].goodRate -= 2
        #expect(!slow.meetsTargets)
        var twice = report
        twice.rounds.append(report.rounds[0])
        twice.rounds[1].duplicates = 1
        #expect(!twice.meetsTargets)
        var restless = report
        restless.rounds[0].connects = 55
        #expect(!restless.meetsTargets)
        restless.rounds += [report.rounds[0], report.rounds[0]]
        #expect(!restless.meetsTargets && !Judge.safety.passes(restless), "every round counts")
        var late = report
        late.rounds[0].connectsAfter = 100
        #expect(late.meetsTargets, "nothing proves a refusal when nothing more is accepted")
        #expect([report, slow].allSatisfy(Judge.safety.passes))
        #expect(![twice, restless].contains(where: Judge.safety.passes))
        #expect([report, slow, twice, restless].allSatisfy(Judge.none.passes))
    }

    @Test("The line has shares as they were asked for, the rounds' rates, and fields that stand in the help")
    func line() throws {
        let line = try report.line()
        #expect(line.contains(#""invalid_percent":1,"#) && line.contains(#""rounds":[[200000,90000]]"#))
        #expect(line.contains(#""discarded":700,"#) && line.contains(#""p":0.0005,"#))
        #expect(line.contains(#""meets_targets":true"#))
        #expect(try BadTokenReport.fields.unexplained(inLine: line) == [])
    }

    private typealias Judge = BadTokensCommand.Judge
}
