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

    @Test("A ratio is the median of the rounds' ratios, whatever the machine's speed was in each")
    func ratio() {
        #expect(samples([]).medianRatio(to: samples([])) == 0)
        #expect(samples([1, 10, 100]).medianRatio(to: samples([2, 5, 200])) == 0.5)
        #expect(samples([1, 10]).medianRatio(to: samples([2])) == 0.5)
        #expect(samples([1, 10]).medianRatio(to: samples([0, 5])) == 2)
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
