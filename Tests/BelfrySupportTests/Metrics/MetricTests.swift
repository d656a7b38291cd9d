import PipelineCore
import Testing

@testable import BelfrySupport

/// The declaration of a metric, with its way from reports to samples.
@Suite struct MetricTests {
    /// A report with parts, as a worker has shards.
    private struct Report {
        var parts: [Part] = []
        var age: Duration?
    }

    private struct Part {
        var name: String
        var count: Int?
        var byColour: [(String, Int)] = []
    }

    private func lines(_ metric: Metric<Report>, _ reports: Report...) -> [String] {
        MetricsText.render([metric].families(of: reports)).split(separator: "\n").dropFirst(2).map(String.init)
    }

    @Test("Equal series of parts and of reports add up, or the highest counts")
    func combining() {
        let reports = [
            Report(parts: [Part(name: "a", count: 3), Part(name: "b", count: 2)]),
            Report(parts: [Part(name: "a", count: 1)]),
        ]
        let values = Metric<Report>.Values.each(\.parts, .count(\.count))
        #expect(lines(.counter("x_total", "X.", values), reports[0], reports[1]) == ["x_total 6"])
        #expect(lines(.gauge("x", "X.", values), reports[0], reports[1]) == ["x 6"])
        #expect(lines(.gauge("x", "X.", highest: values), reports[0], reports[1]) == ["x 3"])
    }

    @Test("A part's labels stand before those of its values, and tell the series apart")
    func labels() {
        let parts = [Part(name: "a", byColour: [("red", 1), ("blue", 0)]), Part(name: "b", byColour: [("red", 2)])]
        let metric = Metric<Report>.gauge(
            "x",
            "X.",
            .each(\.parts, labels: { [.init("part", $0.name)] }, .counts(by: "colour", \.byColour))
        )
        #expect(
            lines(metric, Report(parts: parts)) == [
                "x{part=\"a\",colour=\"red\"} 1", "x{part=\"a\",colour=\"blue\"} 0", "x{part=\"b\",colour=\"red\"} 2",
            ]
        )
    }

    @Test("What is not known has no sample, but a metric has its help and type all the same")
    func unknown() {
        let age = Metric<Report>.gauge("x_seconds", "X.", .seconds(\.age))
        #expect(lines(age, Report()) == [])
        #expect(lines(age, Report(age: .milliseconds(1500))) == ["x_seconds 1.5"])
        #expect(lines(.gauge("x", "X.", .each(\.parts, .count(\.count))), Report(parts: [Part(name: "a")])) == [])
        #expect(MetricsText.render([age].families(of: [])) == "# HELP x_seconds X.\n# TYPE x_seconds gauge\n")
    }

    @Test("A histogram is told by its cumulative buckets, sum and count, which add up over parts and reports")
    func histograms() {
        var histogram = Histogram(first: .milliseconds(1), bounds: 2)
        histogram.observe(.milliseconds(1))
        histogram.observe(.milliseconds(5), count: 2)
        let metric = Metric<[String]>.histogram(
            "x_seconds",
            "X.",
            .each(\.self, labels: { [.init("part", $0)] }, .histogram { [histogram] _ in histogram })
        )
        let text = MetricsText.render([metric].families(of: [["a"], ["a"]]))
        #expect(
            text == """
                # HELP x_seconds X.
                # TYPE x_seconds histogram
                x_seconds_bucket{part="a",le="0.001"} 2
                x_seconds_bucket{part="a",le="0.002"} 2
                x_seconds_bucket{part="a",le="+Inf"} 6
                x_seconds_sum{part="a"} 0.022
                x_seconds_count{part="a"} 6

                """
        )
    }

    @Test("A flag is 1 or 0")
    func flags() {
        let flag = Metric<Report>.gauge("x", "X.", .flag { $0.age.map { $0 > .zero } })
        #expect(lines(flag, Report(age: .seconds(1))) == ["x 1"])
        #expect(lines(flag, Report(age: .zero)) == ["x 0"])
    }
}
