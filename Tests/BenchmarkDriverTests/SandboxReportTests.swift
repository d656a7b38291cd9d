import Foundation
import Testing

@testable import belfry_bench

@Suite("The report on the sandbox")
struct SandboxReportTests {
    private func report(cpu: [Double] = [0.4], floor: [Double] = [0.2]) -> SandboxReport {
        var report = SandboxReport(devices: 10_000_000, notifications: 1000)
        for value in cpu { report.sandbox.cpuMicroseconds.add(value) }
        for value in floor { report.floor.cpuMicroseconds.add(value) }
        report.sandbox.rate.add(1_500_000)
        report.floor.rate.add(4_000_000)
        report.startupSeconds = 0.05
        report.connectionsHeld = 2000
        report.residentMiB = 500
        return report
    }

    @Test("What a core accepts in a second follows from the median of the CPU time, not from the rate on the wall")
    func perCore() {
        #expect(report(cpu: [0.5, 0.4, 9]).acceptedPerCoreSecond == 2_000_000)
        #expect(report(cpu: []).acceptedPerCoreSecond == 0)
    }

    @Test("Without a miss nothing is said")
    func targetsMet() {
        #expect(report().missedTargets.isEmpty)
        #expect(report(cpu: [0.41], floor: [0.2]).missedTargets.count == 1)
    }

    @Test("Every target that is missed is named")
    func targetsMissed() {
        var slow = report(cpu: [1.1], floor: [0.2])
        slow.residentMiB = 1025
        slow.startupSeconds = 5.5
        slow.connectionsHeld = 1999
        #expect(slow.missedTargets.count == 5)
        #expect(report(cpu: [0.7], floor: [0.2]).missedTargets == ["twice the CPU time of a raw TLS sink"])
    }

    @Test("The line is JSON with the fields that callers read")
    func line() throws {
        let object = try JSONSerialization.jsonObject(with: Data(report().line().utf8))
        let fields = try #require(object as? [String: Any])
        #expect(fields["devices"] as? Int == 10_000_000)
        #expect(fields["accepted_per_core_s"] as? Int == 2_500_000)
        #expect(fields["floor_ratio"] as? Double == 2)
        #expect(fields["resident_mib"] as? Double == 500)
        #expect(fields["connections_held"] as? Int == 2000)
        #expect(fields["startup_s"] as? Double == 0.05)
        #expect(fields["beside_ratio"] == nil)
    }

    @Test("The line compares with another version that took part")
    func beside() throws {
        var report = report(cpu: [0.2, 0.2, 0.3], floor: [0.1, 0.1, 0.1])
        for _ in 0..<3 { report.beside.cpuMicroseconds.add(0.4) }
        let object = try JSONSerialization.jsonObject(with: Data(report.line().utf8))
        let fields = try #require(object as? [String: Any])
        #expect(SandboxReport.fields.unexplained(fields.keys) == [])
        #expect(fields["beside_cpu_us"] as? Double == 0.4)
        #expect(fields["beside_ratio"] as? Double == 0.5)
    }
}
