import Testing

@testable import PipelineCore

/// Addresses are texts here, and those with a colon are of another family.
@Suite struct AddressOrderTests {
    private typealias Order = AddressOrder<String>

    private static let start = MonotonicTime(nanoseconds: 1_000_000_000)

    private func order(
        _ order: Order,
        of found: [String],
        turn: Int = 0,
        now: MonotonicTime = Self.start
    ) -> [String] {
        order.order(of: found, turn: turn, now: now) { $0.contains(":") }
    }

    @Test("Families take turns, the one that was found first first, and what is left of one follows")
    func families() {
        #expect(order(Order(), of: [":1", ":2", "1", "2", "3"]) == [":1", "1", ":2", "2", "3"])
        #expect(order(Order(), of: ["1", ":1", ":2"]) == ["1", ":1", ":2"])
        #expect(order(Order(), of: []) == [])
    }

    @Test("Attempts take turns over the addresses of a family, and each tries all addresses once")
    func turns() {
        let found = [":1", "1", ":2", "2", "3"]
        let orders = (0..<6).map { order(Order(), of: found, turn: $0) }
        #expect(orders.map(\.first) == [":1", ":2", ":1", ":2", ":1", ":2"])
        #expect(orders.map { $0[1] } == ["1", "2", "3", "1", "2", "3"])
        #expect(orders.allSatisfy { $0.sorted() == found.sorted() })
    }

    @Test("Addresses that were tried before one that answered come last, also if they only were slower")
    func setBack() {
        let found = ["1", "2", "3", "4"]
        var orders = Order()
        orders.connected(to: "3", of: found, now: Self.start)
        #expect(order(orders, of: found) == ["3", "4", "1", "2"])
        #expect(order(orders, of: found, turn: 1) == ["4", "3", "1", "2"])
    }

    @Test("A family that is set back as a whole is tried when nothing else is left")
    func deadFamily() {
        let found = [":1", ":2", "1", "2"]
        var orders = Order()
        orders.connected(to: "2", of: [":1", "1", ":2", "2"], now: Self.start)
        orders.connected(to: "1", of: ["2", "1"], now: Self.start)
        #expect(order(orders, of: found).first == "1")
        orders.connected(to: "2", of: ["2"], now: Self.start)
        #expect(order(orders, of: found) == ["1", "2", ":1", ":2"])
    }

    @Test("The family that was found first goes on to be first while one of its addresses is good")
    func firstFamily() {
        var orders = Order()
        orders.connected(to: "1", of: [":1", "1"], now: Self.start)
        #expect(order(orders, of: [":1", "1", ":2"]) == [":2", "1", ":1"])
    }

    @Test("An address is set back for a time, and until it answers")
    func recovered() {
        let found = ["1", "2", "3"]
        var orders = Order()
        orders.connected(to: "3", of: found, now: Self.start)
        let end = Self.start + Order.setBackTime
        #expect(order(orders, of: found, now: MonotonicTime(nanoseconds: end.nanoseconds - 1)) == ["3", "1", "2"])
        #expect(order(orders, of: found, now: end) == found)
        orders.connected(to: "1", of: ["1", "2"], now: Self.start)
        #expect(order(orders, of: found) == ["1", "3", "2"])
    }

    @Test("Of addresses that are set back the one that was tried longest ago is tried first")
    func longestAgo() {
        let found = ["1", "2", "3"]
        var orders = Order()
        orders.connected(to: "3", of: ["2", "3"], now: Self.start)
        orders.connected(to: "3", of: ["1", "3"], now: Self.start + .seconds(1))
        #expect(order(orders, of: found, now: Self.start + .seconds(2)) == ["3", "2", "1"])
    }

    @Test("When all addresses have failed, none is worse than another")
    func allFailed() {
        let found = ["1", "2", "3"]
        var orders = Order()
        orders.failed(found, of: found, now: Self.start)
        #expect((0..<3).map { order(orders, of: found, turn: $0).first } == ["1", "2", "3"])
        orders.failed(["1"], of: found, now: Self.start)
        #expect(order(orders, of: found) == ["2", "3", "1"])
        // The last one that was good: all are equal again.
        orders.failed(["2"], of: found, now: Self.start)
        orders.failed(["3"], of: found, now: Self.start)
        #expect(order(orders, of: found) == found)
    }

    @Test("An address whose time is over is good in the moment in which another one fails")
    func failedAtTheEnd() {
        let found = ["2", "1"]
        var orders = Order()
        orders.failed(["1"], of: found, now: Self.start)
        let end = Self.start + Order.setBackTime
        orders.failed(["2"], of: found, now: end)
        #expect(order(orders, of: found, now: end) == ["1", "2"], "not all are set back")
    }

    @Test("After an attempt that took too long those come last that it has tried for sure")
    func timedOut() {
        let found = ["1", "2", "3", "4"]
        var orders = Order()
        orders.timedOut(found, of: found, after: Order.pace - .nanoseconds(1), now: Self.start)
        #expect(order(orders, of: found) == ["2", "3", "4", "1"])
        orders.timedOut(["2", "3", "4", "1"], of: found, after: Order.pace, now: Self.start)
        #expect(order(orders, of: found) == ["4", "1", "2", "3"])
        orders.timedOut(found, of: found, after: .seconds(300), now: Self.start)
        #expect(order(orders, of: found) == found, "it has tried all of them")
    }

    @Test("An attempt tries a bounded number of addresses, and the next one the others first")
    func bounded() {
        let found = (0..<Order.mostTried + 2).map { "\($0)" }
        var orders = Order()
        let first = order(orders, of: found)
        #expect(first == Array(found.prefix(Order.mostTried)))
        orders.failed(first, of: found, now: Self.start)
        #expect(order(orders, of: found) == Array((found.suffix(2) + first).prefix(Order.mostTried)))
    }

    @Test("What other services' addresses did changes nothing")
    func apart() {
        let found = ["1", "2"]
        var orders = Order()
        orders.connected(to: "8", of: ["9", "8"], now: Self.start)
        orders.failed(["7"], of: ["7"], now: Self.start)
        #expect(order(orders, of: found) == found)
    }
}
