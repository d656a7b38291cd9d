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

    private func configuration(spread: Int? = 1) -> WorkerConfiguration {
        WorkerConfiguration(
            brokers: "b:1",
            redis: "r:1",
            gatewayPort: 1,
            trust: "ca.pem",
            certificates: "certificates",
            group: "g",
            spread: spread,
            shards: 1
        )
    }

    @Test("A worker's configuration names the transport only where it is not what all versions have")
    func transport() {
        var configuration = configuration()
        #expect(!configuration.yaml.contains("transport"))
        configuration.transport = "http2"
        #expect(configuration.yaml.contains("\n    trust: ca.pem\n    transport: http2\ncertificates:"))
    }

    @Test("A worker's configuration names spread, outcomes and operations port as they are asked for")
    func sections() {
        var configuration = configuration(spread: nil)
        #expect(configuration.yaml.contains("\noutcomes: failures\n"))
        #expect(!configuration.yaml.contains("apps:"))
        #expect(!configuration.yaml.contains("operations:"))
        configuration.outcomes = "all"
        configuration.operationsPort = 7
        #expect(configuration.yaml.contains("\noutcomes: all\n"))
        #expect(configuration.yaml.contains(#"operations: {listen: "127.0.0.1:7"}"#))
    }

    @Test("A result is one line, its fields in the order of their names, a measure with its spread")
    func resultLine() throws {
        var line = ResultLine(scenario: "s")
        line.add("z", 1)
        line.add("b", samples([2.34567, 1, 9]), digits: 2)
        line.add("c", each: [samples([1, 3]), samples([])], digits: 1)
        #expect(
            try line.text() == #"{"b":2.35,"b_spread":[1,9],"c":[2,0],"c_spread":[[1,3],[0,0]],"scenario":"s","z":1}"#
        )
        line.judge(missed: ["t"])
        #expect(try line.text().contains(#""missed":["t"],"passed":false,"scenario""#))
    }
}
