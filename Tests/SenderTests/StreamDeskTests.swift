import APNsProtocol
import PipelineCore
import ProviderCredentials
import TestSupport
import Testing

@testable import Sender

/// Connections that topics share, one by one.
@Suite("Parties of topics over HTTP/2")
struct StreamDeskTests {
    private static let news = "com.example.news"
    private static let sport = "com.example.sport"

    private let keys: ScriptedKeys

    init() throws { keys = try ScriptedKeys() }

    /// A desk with two topics of one key.
    private func makeDesk(
        randomBits: @escaping @Sendable () -> UInt64 = { 35 }
    ) -> (desk: ScriptedDesk, news: StreamLane, sport: StreamLane) {
        let desk = ScriptedDesk(keys: keys, randomBits: randomBits)
        let credential = TopicCredential.key(keys.ids[0])
        return (desk, desk.makeLane(Self.news, credential), desk.makeLane(Self.sport, credential))
    }

    /// Opens one connection more than there is, with a request of the lane, which is the pilot on a new connection.
    private func connect(_ desk: ScriptedDesk, _ lane: StreamLane) throws -> ScriptedStreams {
        try desk.append(1, to: lane)
        lane.pump(now: desk.now, isMoreAtHand: false)
        desk.pass(.seconds(3))
        return try #require(desk.open().first)
    }

    @Test("Requests leave in portions, though each choice of a connection is good for several")
    func portions() throws {
        let desk = ScriptedDesk()
        let lane = desk.makeLane(Self.news, .certificate(bundleID: Self.news))
        let connection = try connect(desk, lane)
        try desk.append(199, to: lane)
        lane.pump(now: desk.now, isMoreAtHand: false)
        #expect(connection.writes == [1, 64, 64, 64, 7])
    }

    @Test("All requests of a record hand over one body, at one address: it is not copied per token")
    func sharedBody() throws {
        let desk = ScriptedDesk()
        let lane = desk.makeLane(Self.news, .certificate(bundleID: Self.news))
        let connection = try connect(desk, lane)
        try desk.append(199, to: lane)
        lane.pump(now: desk.now, isMoreAtHand: false)
        let addresses = connection.bodies.map { body in body.withUnsafeReadableBytes { $0.baseAddress } }
        // The first request is of a record of its own.
        #expect(addresses.count == 200 && Set(addresses.dropFirst()).count == 1)
        #expect(addresses[0] != nil && addresses[1] != nil && connection.bodies[1].readableBytes > 0)
    }

    @Test("A connection without stream numbers takes no more, and others go on at once")
    func usedUp() throws {
        let desk = ScriptedDesk()
        let lane = desk.makeLane(Self.news, .certificate(bundleID: Self.news))
        let first = try connect(desk, lane)
        first.refusal = .sessionIsEnding
        try desk.append(10, to: lane)
        lane.pump(now: desk.now, isMoreAtHand: false)
        #expect(first.requestCount == 1 && lane.waitingCount == 10)
        let second = try #require(desk.open().first)
        #expect(second.requestCount == 10 && lane.waitingCount == 0)
    }

    @Test("A connection is asked for in the name of a topic that works, though another is probed")
    func leader() throws {
        let (desk, news, sport) = makeDesk()
        try desk.append(1, to: news)
        news.suspend()
        news.admitProbe()
        try desk.append(1, to: sport)
        sport.pump(now: desk.now, isMoreAtHand: false)
        #expect(desk.asked == [.init(bundleID: Self.sport, purpose: .first)])
    }

    @Test("The end of a shared connection is counted once, and fails the topics on it; the last one fails all topics")
    func failure() throws {
        let (desk, news, sport) = makeDesk()
        let idle = desk.makeLane("com.example.idle", .key(keys.ids[0]))
        let first = try connect(desk, news)
        let second = try connect(desk, sport)
        #expect(first.requestCount == 1 && second.requestCount == 1)
        second.end()
        #expect(desk.disconnected.count == 1 && desk.failed == [Self.sport])
        first.end()
        // By now the other topic has connections of its own.
        #expect(desk.disconnected.count == 2 && desk.failed == [Self.sport, Self.news, idle.topic.bundleID])
    }

    @Test("The topics on a shared connection that ends silently go on at once, each over one of its own, for a minute")
    func secluded() throws {
        let (desk, news, sport) = makeDesk()
        let idle = desk.makeLane("com.example.idle", .key(keys.ids[0]))
        let shared = try connect(desk, news)
        shared.acceptAll()
        for lane in [news, sport] {
            try desk.append(1, to: lane)
            lane.pump(now: desk.now, isMoreAtHand: false)
        }
        #expect(shared.requestCount == 3)
        shared.end()
        desk.pass(.milliseconds(20))
        let own = desk.open()
        #expect(own.map(\.requestCount) == [1, 1])
        #expect(Set([news, sport, idle].compactMap { $0.party?.identity }).count == 3)
        for connection in own { connection.acceptAll() }
        desk.pass(.seconds(60))
        for lane in [news, sport] { lane.tick(now: desk.now) }
        #expect(Set([news, sport, idle].compactMap { $0.party?.identity }).count == 1)
    }

    @Test("A topic without requests on a shared connection that ends silently goes on soon, without the others")
    func innocent() throws {
        // The longest waits.
        let (desk, news, sport) = makeDesk(randomBits: { .max })
        let shared = try connect(desk, sport)
        shared.end()
        try desk.append(1, to: news)
        news.pump(now: desk.now, isMoreAtHand: false)
        desk.pass(.milliseconds(20))
        #expect(desk.open().map { $0.party === sport.party } == [true])
        desk.pass(.milliseconds(180))
        let next = desk.open()
        #expect(next.map { $0.party === news.party } == [true] && next.map(\.requestCount) == [1])
        #expect(sport.party !== news.party)
    }

    @Test("A topic that alone uses a connection waits before it connects again after a silent end")
    func notSecluded() throws {
        let desk = ScriptedDesk(keys: keys)
        let news = desk.makeLane(Self.news, .key(keys.ids[0]))
        let connection = try connect(desk, news)
        connection.end()
        desk.pass(.milliseconds(20))
        #expect(desk.open().isEmpty)
        desk.pass(.seconds(1))
        #expect(desk.open().map(\.requestCount) == [1])
    }

    @Test("Shards begin at different addresses, so that together they use all, and so do the parties of a shard")
    func spread() throws {
        var random = SeededGenerator(seed: 8)
        let shards = (0..<32).map { _ in
            let bits = random.next()
            return ScriptedDesk(randomBits: { bits })
        }
        for shard in shards {
            for bundleID in ["one", "two", "three"] {
                _ = shard.makeLane(bundleID, .certificate(bundleID: bundleID))
            }
            #expect(shard.turns == (0..<3).map { shard.turns[0] + $0 })
        }
        #expect(Set(shards.map { $0.turns[0] % 4 }).count == 4)
    }

    @Test("A connection is reported with the first of its topics, also when topics leave and come back")
    func reported() throws {
        let (desk, news, sport) = makeDesk()
        _ = try connect(desk, news)
        #expect([news, sport].map(\.openConnections) == [1, 0])
        desk.credentials[Self.news] = .certificate(bundleID: Self.news)
        news.tick(now: desk.now)
        #expect([news, sport].map(\.openConnections) == [0, 1])
        desk.credentials[Self.news] = desk.credentials[Self.sport]
        news.tick(now: desk.now)
        #expect([news, sport].map(\.openConnections) == [1, 0])
    }
}
