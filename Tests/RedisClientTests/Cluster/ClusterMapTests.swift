import NIOCore
import TestSupport
import Testing

@testable import RedisClient

@Suite("The map of slots")
struct ClusterMapTests {
    private let asked = RedisAddress(host: "asked", port: 1)

    private func read(_ value: ReplyValue) throws -> [ClusterTopology.Range] {
        let parser = ReplyParser(limitBytes: 1 << 20)
        var result: Result<[ClusterTopology.Range], any Error>?
        try value.encoded.withUnsafeBytes { bytes in
            try parser.feed(bytes) { reply in
                result = Result { try ClusterTopology.Range.read(reply, asked: asked) }
                return true
            }
        }
        return try #require(result).get()
    }

    private func node(_ host: ReplyValue, _ port: Int64) -> ReplyValue {
        .array([host, .integer(port), .text("id"), .array([])])
    }

    private func line(_ first: Int64, _ last: Int64, _ nodes: ReplyValue...) -> ReplyValue {
        .array([.integer(first), .integer(last)] + nodes)
    }

    @Test("An empty host, or none, is the one that was asked; replicas are told apart; more fields are passed over")
    func reads() throws {
        let ranges = try read(
            .array([
                line(0, 99, node(.text(""), 7), node(.text("replica"), 8)),
                line(100, 100, node(.null, 9), node(.text("?"), 8)),
                line(200, 16_383, node(.text("::1"), 10)),
            ])
        )
        #expect(
            ranges == [
                .init(
                    slots: 0...99,
                    master: .init(host: "asked", port: 7),
                    replicas: [.init(host: "replica", port: 8)]
                ),
                .init(slots: 100...100, master: .init(host: "asked", port: 9)),
                .init(slots: 200...16_383, master: .init(host: "::1", port: 10)),
            ]
        )
        var topology = ClusterTopology()
        topology.replace(by: ranges)
        #expect(topology.isKnown && !topology.isComplete)
        #expect(topology.owner(of: RedisSlot(number: 99)) == 0 && topology.owner(of: RedisSlot(number: 100)) == 1)
        #expect(topology.owner(of: RedisSlot(number: 101)) == nil)
        #expect(topology.owner(of: RedisSlot(number: 16_383)) == 2)
    }

    @Test("Slots of a master with an unknown address are left out, not guessed")
    func unknownMaster() throws {
        let ranges = try read(
            .array([
                line(0, 9, node(.text("?"), 7)), line(10, 19, node(.text("a"), 0)), line(20, 29, node(.text("b"), 1)),
            ])
        )
        #expect(ranges.map(\.slots) == [20...29])
    }

    @Test("An answer that is not a map is refused")
    func malformed() throws {
        let good = node(.text("h"), 1)
        let bad: [ReplyValue] = [
            .status("OK"), .integer(3), .null, .array([.integer(0)]), .array([.array([])]),
            .array([line(0, 1)]), .array([line(-1, 1, good)]), .array([line(2, 1, good)]),
            .array([line(0, 16_384, good)]), .array([line(0, .max, good)]), .array([line(0, 1, .text("h"))]),
            .array([line(0, 1, .array([.text("h")]))]), .array([line(0, 1, node(.text("h"), 70_000))]),
            .array([line(0, 1, node(.text("h"), -1))]), .array([line(0, 1, node(.integer(1), 1))]),
            .array([.array([.text("0"), .text("1"), good])]),
        ]
        for value in bad { #expect(throws: ClusterMapError.self, "\(value)") { try read(value) } }
        #expect(throws: ClusterMapError.empty) { try read(.array([])) }
        var random = SeededGenerator(seed: 7)
        for _ in 0..<2000 {
            // For every answer of a server: ranges that are in order, or an error.
            guard let ranges = try? read(.random(using: &random)) else { continue }
            #expect(ranges.allSatisfy { $0.slots.upperBound < 16_384 })
        }
    }

    @Test("A redirection changes one slot, and may name a node that no map has named")
    func move() {
        var topology = ClusterTopology()
        let (a, b) = (RedisAddress(host: "a", port: 1), RedisAddress(host: "b", port: 1))
        var isNews = topology.move(RedisSlot(number: 5), to: a)
        #expect(isNews)
        #expect(topology.owner(of: RedisSlot(number: 5)) == 0 && topology.owner(of: RedisSlot(number: 6)) == nil)
        topology.replace(by: [.all(a)])
        #expect(topology.isComplete)
        isNews = topology.move(RedisSlot(number: 5), to: b)
        #expect(isNews)
        isNews = topology.move(RedisSlot(number: 5), to: b)
        #expect(!isNews)
        #expect(topology.masters == [a, b])
        #expect(topology.owner(of: RedisSlot(number: 5)) == 1 && topology.owner(of: RedisSlot(number: 6)) == 0)
    }
}

@Suite("What a node of a cluster refuses")
struct ClusterRefusalTests {
    private let asked = RedisAddress(host: "asked", port: 1)

    private func refusal(_ text: String) -> ClusterRefusal? {
        ClusterRefusal(.server(text: text), asked: asked)
    }

    @Test("Redirections name slot and node; no host is the one that was asked")
    func redirections() {
        let slot = RedisSlot(number: 3999)
        #expect(refusal("MOVED 3999 127.0.0.1:6381") == .moved(slot, to: .init(host: "127.0.0.1", port: 6381)))
        #expect(refusal("MOVED 3999 :6381") == .moved(slot, to: .init(host: "asked", port: 6381)))
        #expect(refusal("MOVED 3999 ::1:6381") == .moved(slot, to: .init(host: "::1", port: 6381)))
        #expect(refusal("ASK 3999 h.example:1") == .ask(.init(host: "h.example", port: 1)))
    }

    @Test("Some troubles pass, and some of those say that the map is old")
    func later() {
        for text in ["TRYAGAIN Multiple keys", "LOADING Redis is loading"] {
            #expect(refusal(text) == .later(mapIsDoubtful: false))
        }
        for text in ["CLUSTERDOWN The cluster is down", "MASTERDOWN Link", "READONLY You can't write"] {
            #expect(refusal(text) == .later(mapIsDoubtful: true))
        }
    }

    @Test(
        "All other errors are the command's own, redirections that cannot be read too",
        arguments: [
            "ERR unknown command", "WRONGTYPE x", "NOSCRIPT x", "CROSSSLOT x", "OOM x", "MOVED", "MOVED 1",
            "MOVED x h:1",
            "MOVED 16384 h:1", "MOVED -1 h:1", "MOVED 1 h", "MOVED 1 h:0", "MOVED 1 h:65536", "MOVED 1 h:x", "ASK 1 h:",
        ]
    )
    func others(text: String) {
        #expect(refusal(text) == nil)
    }

    @Test("A command that may have run is not sent again")
    func fateUnknown() {
        #expect(ClusterRefusal(.maybeExecuted(reason: "MOVED 1 h:1"), asked: asked) == nil)
        #expect(ClusterRefusal(.timeout(after: .seconds(1)), asked: asked) == nil)
    }
}
