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

    @Test("A worker's configuration names spread, outcomes and operations port as they are asked for")
    func sections() {
        var configuration = WorkerConfiguration(
            brokers: "b:1",
            redis: "r:1",
            gatewayPort: 1,
            trust: "ca.pem",
            certificates: "certificates",
            group: "g",
            environment: "sandbox",
            bundle: "com.example.bench",
            spread: nil,
            shards: 1,
            connectionsPerTopic: 1,
            confirmationWindowSeconds: 1,
            dedupeWindowSeconds: 0,
            hasTokenState: true,
            hasFilter: true
        )
        #expect(configuration.yaml.contains("\noutcomes: failures\n"))
        #expect(!configuration.yaml.contains("topics:"))
        #expect(!configuration.yaml.contains("operations:"))
        configuration.outcomes = "all"
        configuration.operationsPort = 7
        #expect(configuration.yaml.contains("\noutcomes: all\n"))
        #expect(configuration.yaml.contains(#"operations: {listen: "127.0.0.1:7"}"#))
    }
}
