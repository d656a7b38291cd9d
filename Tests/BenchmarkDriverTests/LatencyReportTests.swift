import Foundation
import Testing

@testable import belfry_bench

@Suite("The report on latency")
struct LatencyReportTests {
    private func latency(_ p50: Double, _ p99: Double, _ p999: Double) throws -> Latency {
        let line = #"{"count":1,"p50_us":\#(p50),"p99_us":\#(p99),"p999_us":\#(p999),"largest_us":9}"#
        return try JSONDecoder().decode(Latency.self, from: Data(line.utf8))
    }

    private func report(p50: Double = 2500, p99: Double = 9000, rate: Double = 50_000) throws -> LatencyReport {
        var report = LatencyReport(rateWanted: 50_000, seconds: 10, partitions: 8)
        report.worker.add(try latency(p50, p99, 20_000))
        report.floor.add(try latency(1000, 3000, 5000))
        report.lateness.add(try latency(10, 200, 300))
        report.rateOffered.add(50_000)
        report.rate.add(rate)
        report.cpuMicroseconds.add(3)
        return report
    }

    @Test("A difference is the median of the rounds' differences")
    func difference() {
        var values = Samples()
        var others = Samples()
        #expect(values.medianDifference(to: others) == 0)
        for (value, other) in [(5.0, 1.0), (100, 99), (7, 5)] {
            values.add(value)
            others.add(other)
        }
        #expect(values.medianDifference(to: others) == 2)
    }

    @Test("Without a miss nothing is said")
    func targetsMet() throws {
        #expect(try report().missedTargets.isEmpty)
    }

    @Test("Every target that is missed is named")
    func targetsMissed() throws {
        #expect(try report(p50: 3001).missedTargets == ["p50 of the floor and 2 ms"])
        #expect(try report(p99: 13_001).missedTargets == ["p99 of the floor and 10 ms"])
        #expect(try report(rate: 49_000).missedTargets == ["the rate at the gateway"])
    }

    @Test("The line is JSON with the fields that callers read, in milliseconds")
    func line() throws {
        let object = try JSONSerialization.jsonObject(with: Data(report().line().utf8))
        let fields = try #require(object as? [String: Any])
        #expect(LatencyReport.fields.unexplained(fields.keys) == [])
        #expect(fields["passed"] as? Bool == true)
        #expect(fields["p50_ms"] as? Double == 2.5)
        #expect(fields["p99_ms"] as? Double == 9)
        #expect(fields["p999_ms"] as? Double == 20)
        #expect(fields["floor_p50_ms"] as? Double == 1)
        #expect(fields["floor_p99_ms"] as? Double == 3)
        #expect(fields["floor_p999_ms"] as? Double == 5)
        #expect(fields["p50_difference_ms"] as? Double == 1.5)
        #expect(fields["rate_offered"] as? Int == 50_000)
        #expect(fields["rate"] as? Int == 50_000)
    }
}
