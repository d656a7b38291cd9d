import Testing

@testable import belfry_chaos

@Suite("What the nodes of a chaos run's Redis Cluster tell of themselves")
struct ClusterViewTests {
    private static let answers = [
        """
        aa01 127.0.0.1:7001@17001 myself,master - 0 0 1 connected 0-5460
        bb02 127.0.0.1:7002@17002 master - 0 1426238316232 2 connected 5461-10922
        cc03 127.0.0.1:7003@17003 slave aa01 0 1426238316232 1 connected
        """,
        """
        aa01 127.0.0.1:7001@17001 master,fail? - 0 1426238316232 1 connected 0-5461
        bb02 127.0.0.1:7002@17002 myself,master - 0 0 2 connected 5461 5463-10922 [5462->-aa01] [93-<-aa01]
        """,
        "cc03 127.0.0.1:7003@17003 myself,slave aa01 0 0 1 connected",
        "Could not connect to Redis at 127.0.0.1:7004: Connection refused",
    ]

    @Test("Each node counts by what it says of itself; one that is away is not there")
    func nodes() {
        let view = ClusterView(Self.answers)
        #expect(
            view.nodes == [
                .init(identifier: "aa01", port: 7001, master: nil, slots: [0...5460]),
                .init(identifier: "bb02", port: 7002, master: nil, slots: [5461...5461, 5463...10_922]),
                .init(identifier: "cc03", port: 7003, master: "aa01", slots: []),
            ]
        )
    }

    @Test("Masters are those that serve slots; a slot has one master, and a master its replica")
    func roles() {
        let view = ClusterView(Self.answers + ["dd04 127.0.0.1:7000@17000 myself,master - 0 0 0 connected"])
        #expect(view.masters.map(\.port) == [7001, 7002])
        #expect(view.master(ofSlot: 5461)?.port == 7002 && view.master(ofSlot: 93)?.port == 7001)
        #expect(view.master(ofSlot: 5462) == nil)
        #expect(view.masters.map { view.replica(of: $0)?.port } == [7003, nil])
    }
}
