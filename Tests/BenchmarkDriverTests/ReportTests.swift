import Foundation
import Testing

@testable import belfry_bench

@Suite("The benchmark's report")
struct ReportTests {
    private func samples(_ values: [Double]) -> Samples {
        var samples = Samples()
        for value in values { samples.add(value) }
        return samples
    }

    @Test("The median is the middle value, or the mean of the two middle ones")
    func median() {
        #expect(samples([]).median == 0)
        #expect(samples([3]).median == 3)
        #expect(samples([9, 1, 5]).median == 5)
        #expect(samples([4, 1, 3, 100]).median == 3.5)
    }

    @Test("The spread is the smallest and the largest value")
    func spread() {
        #expect(samples([9, 1, 5]).spread == [1, 9])
    }

    @Test("A ratio is the median of the rounds' ratios, whatever the machine's speed was in each")
    func ratio() {
        #expect(samples([]).medianRatio(to: samples([])) == 0)
        #expect(samples([1, 10, 100]).medianRatio(to: samples([2, 5, 200])) == 0.5)
        #expect(samples([1, 10]).medianRatio(to: samples([2])) == 0.5)
        #expect(samples([1, 10]).medianRatio(to: samples([0, 5])) == 2)
    }

    @Test("The worker is judged by its ratio, and not at all without a limit")
    func limit() {
        var report = Report(scenario: "single", notifications: 1)
        report.worker.cpuMicroseconds = samples([1.5, 1.6, 99])
        report.floor.cpuMicroseconds = samples([0.6, 0.5, 0.4])
        #expect(report.isWithin(limit: 3.2))
        #expect(!report.isWithin(limit: 3.1))
        #expect(report.isWithin(limit: 0))
    }

    @Test("Another version's worker is in the report when it took part, with the ratio of this one to it")
    func beside() throws {
        var report = Report(scenario: "single", notifications: 1)
        report.worker.cpuMicroseconds = samples([1.5, 3])
        #expect(report.besideRatio == nil)
        #expect(try !report.line().contains("beside"))
        report.beside.cpuMicroseconds = samples([2, 4.00049])
        #expect(try report.line().contains(#""beside_cpu_us":3,"beside_ratio":0.75,"#))
    }

    @Test("A worker's configuration names the transport only where it is not what all versions have")
    func transport() {
        func configuration(_ transport: String?) -> String {
            WorkerConfiguration(
                brokers: "b:1",
                redis: "r:1",
                gatewayPort: 1,
                trust: "ca.pem",
                certificates: "certificates",
                group: "g",
                environment: "sandbox",
                bundle: "com.example.bench",
                spread: 1,
                shards: 1,
                connectionsPerTopic: 1,
                confirmationWindowSeconds: 1,
                dedupeWindowSeconds: 0,
                hasTokenState: true,
                hasFilter: true,
                transport: transport
            ).yaml
        }
        #expect(!configuration(nil).contains("transport"))
        #expect(configuration("http2").contains("\n    trust: ca.pem\n    transport: http2\ncertificates:"))
    }

    @Test("The report is one line of JSON with numbers of few digits")
    func line() throws {
        var report = Report(scenario: "single", notifications: 300_000)
        report.worker.rate = samples([400_000.4])
        report.worker.cpuMicroseconds = samples([1.23456])
        report.floor.rate = samples([800_000])
        report.floor.cpuMicroseconds = samples([0.6])
        report.residentMiB = 81.26
        let line = try report.line()
        #expect(!line.contains("\n"))
        #expect(line.contains(#""worker_cpu_us":1.235,"#))
        #expect(line.contains(#""floor_cpu_us":0.6,"#))
        #expect(line.contains(#""rate":400000,"#))
        #expect(line.contains(#""rate_spread":[400000,400000],"#))
        #expect(line.contains(#""floor_rate":800000,"#))
        #expect(line.contains(#""ratio":2.06"#))
        #expect(line.contains(#""resident_mib":81.3"#))
        #expect(line.contains(#""scenario":"single""#))
    }
}
