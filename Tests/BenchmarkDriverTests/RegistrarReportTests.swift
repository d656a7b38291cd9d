import Foundation
import Testing

@testable import belfry_bench

@Suite("The report on the registrar")
struct RegistrarReportTests {
    private func report(seconds: [Double], loop: [Double]) -> RegistrarReport {
        var report = RegistrarReport(registrations: 100_000)
        for seconds in seconds {
            report.registrar.add(.init(seconds: seconds, cpuMicroseconds: 5, redisMicroseconds: 9))
        }
        for seconds in loop { report.loop.add(.init(seconds: seconds, cpuMicroseconds: 1, redisMicroseconds: 8)) }
        return report
    }

    @Test("The ratio is that of the rates, in the same rounds")
    func ratio() {
        #expect(report(seconds: [2, 10, 1], loop: [1, 9, 0.5]).ratio == 0.5)
        #expect(report(seconds: [1], loop: [0.9]).missedTargets.isEmpty)
        #expect(report(seconds: [1], loop: [0.7]).missedTargets == ["0.8 times the rate of the bare loop"])
    }

    @Test("The line is JSON with the fields that callers read")
    func line() throws {
        let object = try JSONSerialization.jsonObject(with: Data(report(seconds: [2], loop: [1]).line().utf8))
        let fields = try #require(object as? [String: Any])
        #expect(RegistrarReport.fields.unexplained(fields.keys) == [])
        #expect(fields["passed"] as? Bool == false)
        #expect(fields["rate"] as? Int == 50_000)
        #expect(fields["loop_rate"] as? Int == 100_000)
        #expect(fields["ratio"] as? Double == 0.5)
        #expect(fields["registrar_cpu_us"] as? Double == 5)
        #expect(fields["loop_cpu_us"] as? Double == 1)
        #expect(fields["redis_cpu_us"] as? Double == 9)
        #expect(fields["loop_redis_cpu_us"] as? Double == 8)
    }
}
