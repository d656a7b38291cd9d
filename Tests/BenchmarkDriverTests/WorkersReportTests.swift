import Foundation
import Testing

@testable import belfry_bench

@Suite("The report on one to four workers")
struct WorkersReportTests {
    private func report(
        cpu: [Double] = [2, 2.1, 1.9, 2],
        start: Double = 0.5,
        stop: Double = 1,
        rate: Double = 1
    ) -> WorkersReport {
        var report = WorkersReport(rateOfEach: 50_000, seconds: 5, partitions: 32)
        for (index, cpu) in cpu.enumerated() {
            let offered = Double((index + 1) * 50_000)
            report.add(
                .init(cpuMicroseconds: cpu, rate: rate * offered, startSeconds: start, stopSeconds: stop),
                workers: index + 1
            )
        }
        return report
    }

    @Test("The CPU time of more workers is a multiple of one worker's")
    func ratios() {
        #expect(report(cpu: [2, 3, 1, 2]).ratios == [1, 1.5, 0.5, 1])
    }

    @Test("Without a miss nothing is said, and every target that is missed is named")
    func targets() {
        #expect(report().missedTargets.isEmpty)
        #expect(report(cpu: [2, 2, 2, 2.3]).missedTargets == ["1.1 times the CPU time of one worker"])
        #expect(report(cpu: [2, 1, 1, 1]).missedTargets.isEmpty)
        #expect(report(start: 1.1).missedTargets == ["a start of 1 s"])
        #expect(report(stop: 3.1).missedTargets == ["a stop of 3 s"])
        #expect(report(rate: 0.9).missedTargets == ["the offered rate at the gateway"])
    }

    @Test("The line is JSON with a value for each number of workers")
    func line() throws {
        let object = try JSONSerialization.jsonObject(with: Data(report().line().utf8))
        let fields = try #require(object as? [String: Any])
        #expect(WorkersReport.fields.unexplained(fields.keys) == [])
        #expect(fields["workers"] as? [Int] == [1, 2, 3, 4])
        #expect(fields["rate"] as? [Int] == [50_000, 100_000, 150_000, 200_000])
        #expect(fields["cpu_us"] as? [Double] == [2, 2.1, 1.9, 2])
        #expect(fields["cpu_ratio"] as? [Double] == [1, 1.05, 0.95, 1])
        #expect(fields["start_s"] as? [Double] == [0.5, 0.5, 0.5, 0.5])
        #expect(fields["stop_s"] as? [Double] == [1, 1, 1, 1])
    }

    @Test("A shard has its partitions at the time of its first line that says so; none without partitions counts")
    func assignments() {
        func line(_ message: String, _ partitions: String, shard: Int = 0, second: Int = 5) -> String {
            #"{"time":"2026-01-02T03:04:0\#(second).678Z","level":"info","logger":"belfry","message":"\#(message)","#
                + #""metadata":{"partitions":"\#(partitions)","shard":"\#(shard)"}}"#
        }
        let log = [line("partitions assigned", "[]"), line("partitions revoked", "[1]"), "no JSON"]
        #expect(AssignmentLine.times(in: log.joined(separator: "\n")).isEmpty)
        let said = [
            line("partitions assigned", "[0, 1]"), line("partitions assigned", "[0]", second: 7),
            line("partitions assigned", "[2]", shard: 1, second: 6),
        ]
        let times = AssignmentLine.times(in: said.joined(separator: "\n"))
        #expect(
            times.mapValues { ($0.timeIntervalSince1970 * 1000).rounded() }
                == ["0": 1_767_323_045_678, "1": 1_767_323_046_678]
        )
    }
}
