import RequestLanes
import Testing

@Suite("Lanes of requests")
struct RequestLaneTests {
    /// The kernel's weights of nice values 0 … 19 (sched_prio_to_weight).
    private static let weights = [
        1024, 820, 655, 526, 423, 335, 272, 215, 172, 137, 110, 87, 70, 56, 45, 36, 29, 23, 18, 15,
    ]

    /// All choices of lanes but none.
    private static let choices: [[RequestLane]] = (1..<8).map { bits in
        RequestLane.allCases.filter { bits >> $0.rank & 1 == 1 }
    }

    @Test("The first of the lanes that are served is not slowed down, and each further one is", arguments: choices)
    func order(lanes: [RequestLane]) {
        let values = lanes.map { $0.niceness(among: lanes) }
        #expect(values.first == 0)
        #expect(zip(values, values.dropFirst()).allSatisfy { $0 < $1 })
    }

    @Test("Of busy processors each lane has a tenth or more, an earlier one more than a later one", arguments: choices)
    func shares(lanes: [RequestLane]) {
        let weights = lanes.map { Self.weights[Int($0.niceness(among: lanes))] }
        let all = weights.reduce(0, +)
        #expect(weights.allSatisfy { $0 * 10 >= all })
        #expect(zip(weights, weights.dropFirst()).allSatisfy { $0 > $1 })
    }

    @Test("The shares of the lanes make the memory of a shard, and one lane alone has all", arguments: choices)
    func memory(lanes: [RequestLane]) {
        let shares = lanes.map { $0.memoryShare(among: lanes) }
        #expect(abs(shares.reduce(0, +) - 1) < 1e-9)
        #expect(shares.allSatisfy { $0 >= 0.25 })
    }

    @Test("Urgent comes before normal, and that before bulk; their names end so")
    func names() {
        #expect(RequestLane.allCases.sorted() == [.urgent, .normal, .bulk])
        #expect(RequestLane.allCases.map(\.suffix) == [".urgent", "", ".bulk"])
        let topics = RequestLane.allCases.map { $0.kafkaTopic(prefix: "a.") }
        #expect(topics == ["a.push.requests.urgent", "a.push.requests", "a.push.requests.bulk"])
        #expect(RequestLane.bulk.kafkaTopic(prefix: "") == "push.requests.bulk")
    }
}
