import Testing

@testable import LocalPipeline

@Suite("Numbers of a role's metrics")
struct MetricNumbersTests {
    private let numbers = MetricNumbers(
        """
        # TYPE t histogram
        t_bucket{role="a",le="0.001"} 7
        t_bucket{role="a",le="4.096"} 8
        t_bucket{role="a",le="8.192"} 9
        t_bucket{role="a",le="+Inf"} 9
        t_bucket{role="b",le="0.001"} 1
        t_bucket{role="b",le="+Inf"} 1
        t_count{role="a"} 9
        t_count{role="b"} 1
        t_counted 100
        """
    )

    @Test("A metric is the sum of its series, and no other whose name begins alike")
    func sums() {
        #expect(numbers.sum(of: "t_count") == 10 && numbers.values(of: "t_count").sorted() == [1, 9])
        #expect(numbers.sum(of: "t_counted") == 100 && numbers.sum(of: "absent") == 0)
    }

    @Test("The longest observation of a histogram exceeds the last bound that it is not below")
    func longest() {
        #expect(numbers.longest(of: "t") == 4.096 && numbers.longest(of: "absent") == 0)
    }

    @Test("The longest since a look before is the bound of the highest bucket that grew")
    func grown() {
        func numbers(_ counts: [Int]) -> MetricNumbers {
            let lines = zip(["0.05", "0.1", "+Inf"], counts).map { "t_bucket{le=\"\($0)\"} \($1)" }
            return MetricNumbers(lines.joined(separator: "\n"))
        }
        let before = numbers([3, 4, 4])
        let bounds = [[4, 5, 5], [4, 6, 6], [3, 4, 5], [3, 4, 4]].map {
            numbers($0).highestBound(of: "t", since: before)
        }
        #expect(bounds == [0.05, 0.1, .infinity, 0])
    }
}
