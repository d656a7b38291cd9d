import APNsProtocol
import PipelineCore
import ProviderCredentials
import TestSupport
import Testing

@testable import Sender

/// Connections that topics share, one by one.
@Suite("Credentials of topics over HTTP/2")
struct HTTP2TopicsTests {
    private static let news = "com.example.news"
    private static let sport = "com.example.sport"

    private let keys: ScriptedKeys

    init() throws { keys = try ScriptedKeys() }

    /// Two topics of one key.
    private func makeTopics(
        randomBits: @escaping @Sendable () -> UInt64 = { 35 }
    ) -> (topics: ScriptedTopics, news: StreamLane, sport: StreamLane) {
        let topics = ScriptedTopics(keys: keys, randomBits: randomBits)
        let credential = AppCredential.key(keys.ids[0])
        return (topics, topics.makeLane(Self.news, credential), topics.makeLane(Self.sport, credential))
    }

    /// Opens one connection more than there is, with a request of the lane, which is the pilot on a new connection.
    private func connect(_ topics: ScriptedTopics, _ lane: StreamLane) throws -> ScriptedStreams {
        try topics.append(1, to: lane)
        lane.pump(now: topics.now, isMoreAtHand: false)
        topics.pass(.seconds(3))
        return try #require(topics.open().first)
    }

    @Test("Requests leave in portions, though each choice of a connection is good for several")
    func portions() throws {
        let topics = ScriptedTopics()
        let lane = topics.makeLane(Self.news, .certificate(bundleID: Self.news))
        let connection = try connect(topics, lane)
        try topics.append(199, to: lane)
        lane.pump(now: topics.now, isMoreAtHand: false)
        #expect(connection.writes == [1, 64, 64, 64, 7])
    }

    @Test("All requests of a record hand over one body, at one address: it is not copied per token")
    func sharedBody() throws {
        let topics = ScriptedTopics()
        let lane = topics.makeLane(Self.news, .certificate(bundleID: Self.news))
        let connection = try connect(topics, lane)
        try topics.append(199, to: lane)
        lane.pump(now: topics.now, isMoreAtHand: false)
        let addresses = connection.bodies.map { body in body.withUnsafeReadableBytes { $0.baseAddress } }
        // The first request is of a record of its own.
        #expect(addresses.count == 200 && Set(addresses.dropFirst()).count == 1)
        #expect(addresses[0] != nil && addresses[1] != nil && connection.bodies[1].readableBytes > 0)
    }

    @Test("Requests of one topic go each over the credential that may send it, in one line")
    func pushTypes() throws {
        let topics = ScriptedTopics(keys: keys)
        topics.others = [.liveactivity: .key(keys.ids[0])]
        let lane = topics.makeLane(Self.news, .certificate(bundleID: Self.news))
        let certified = try connect(topics, lane)
        certified.acceptAll()
        for pushType in [PushType.alert, .liveactivity, .alert, .liveactivity, .background] {
            try topics.append(1, to: lane, pushType: pushType)
        }
        lane.pump(now: topics.now, isMoreAtHand: false)
        #expect(certified.requestCount == 2 && lane.waitingCount == 4, "the next one waits for the key's connection")

        let keyed = try #require(topics.open().first)
        #expect(keyed.owner.identity.credential == .key(keys.ids[0]) && keyed.owner !== certified.owner)
        #expect(keyed.requestCount == 1 && certified.requestCount == 3, "with a key the first request goes alone")
        keyed.acceptAll()
        #expect(keyed.requestCount == 2 && certified.requestCount == 4 && lane.waitingCount == 0)
        #expect(lane.openConnections == 2 && topics.open().isEmpty)
        #expect(lane.credentialName == "certificate of \(Self.news), \(keys.ids[0])")

        // Neither counts for the other: the last one of a credential fails the topic.
        keyed.end()
        #expect(topics.failed == [Self.news])
    }

    @Test("A refused credential stops the topics that need it, and none that sent with it before")
    func neededNoMore() throws {
        let topics = ScriptedTopics(keys: keys)
        let key = AppCredential.key(keys.ids[0])
        topics.others = [.liveactivity: key]
        let news = topics.makeLane(Self.news, .certificate(bundleID: Self.news))
        let sport = topics.makeLane(Self.sport, key)
        try topics.append(1, to: news, pushType: .liveactivity)
        news.pump(now: topics.now, isMoreAtHand: false)
        let keyed = try #require(topics.open().first)
        #expect(keyed.owner === sport.connections && keyed.requestCount == 1)
        topics.topics.refused(keyed.owner, .team)
        #expect(topics.refused == [Self.news, Self.sport])
        keyed.acceptAll()
        topics.topics.refused(keyed.owner, .team)
        #expect(topics.refused == [Self.news, Self.sport, Self.sport])
        try topics.append(1, to: sport)
        for reason in [DisconnectReason.certificateRefused, .connectFailed] {
            topics.topics.disconnected(keyed.owner, keyed.number, reason)
        }
        #expect(topics.failed == [Self.sport, Self.sport])
    }

    @Test("Push types with the same credential share its connections")
    func sameCredential() throws {
        let topics = ScriptedTopics()
        let lane = topics.makeLane(Self.news, .certificate(bundleID: Self.news))
        let connection = try connect(topics, lane)
        for pushType in [PushType.voip, .complication, .alert] { try topics.append(1, to: lane, pushType: pushType) }
        lane.pump(now: topics.now, isMoreAtHand: false)
        #expect(connection.requestCount == 4 && connection.owner.members == [0] && topics.open().isEmpty)
    }

    @Test("A push type whose credential changes goes over the other one's connections, and leaves the former ones")
    func changedCredential() throws {
        let topics = ScriptedTopics(keys: keys)
        topics.others = [.voip: .voipCertificate(bundleID: Self.news)]
        let lane = topics.makeLane(Self.news, .certificate(bundleID: Self.news))
        try topics.append(1, to: lane, pushType: .voip)
        lane.pump(now: topics.now, isMoreAtHand: false)
        let first = try #require(topics.open().first)
        #expect(first.requestCount == 1 && lane.sources.all.count == 2)
        first.acceptAll()
        topics.others = [:]
        lane.tick(now: topics.now)
        #expect(first.owner.members.isEmpty && lane.sources.all.map { $0 === lane.connections } == [true])
        try topics.append(1, to: lane, pushType: .voip)
        lane.pump(now: topics.now, isMoreAtHand: false)
        #expect(topics.open().map(\.requestCount) == [1] && first.requestCount == 1)
    }

    @Test("A lane stands still, though a credential that its next request does not need waits for the budget")
    func foreignBudget() throws {
        let topics = ScriptedTopics()
        topics.others = [.voip: .voipCertificate(bundleID: Self.news)]
        let lane = topics.makeLane(Self.news, .certificate(bundleID: Self.news))
        topics.hasBudgetFrom = topics.now + .seconds(7200)
        try topics.append(1, to: lane, pushType: .voip)
        lane.pump(now: topics.now, isMoreAtHand: false)
        #expect(lane.isWaitingForBudget && !lane.standsStill(now: topics.now))
        topics.now = topics.now + .seconds(3600)
        #expect(!lane.standsStill(now: topics.now))

        _ = lane.takeWaiting(assignment: 1) { _ in true }
        topics.hasBudgetFrom = nil
        try topics.append(1, to: lane)
        lane.pump(now: topics.now, isMoreAtHand: false)
        #expect(lane.sources.all.map { $0.pool.isWaitingForBudget } == [false, true])
        #expect(!lane.isWaitingForBudget && !lane.standsStill(now: topics.now), "its time begins")
        topics.now = topics.now + .seconds(3600)
        #expect(lane.standsStill(now: topics.now))
    }

    @Test("A connection without stream numbers takes no more, and others go on at once")
    func usedUp() throws {
        let topics = ScriptedTopics()
        let lane = topics.makeLane(Self.news, .certificate(bundleID: Self.news))
        let first = try connect(topics, lane)
        first.refusal = .sessionIsEnding
        try topics.append(10, to: lane)
        lane.pump(now: topics.now, isMoreAtHand: false)
        #expect(first.requestCount == 1 && lane.waitingCount == 10)
        let second = try #require(topics.open().first)
        #expect(second.requestCount == 10 && lane.waitingCount == 0)
    }

    @Test("A connection is asked for in the name of a topic that works, though another is probed")
    func leader() throws {
        let (topics, news, sport) = makeTopics()
        try topics.append(1, to: news)
        news.suspend()
        news.admitProbe()
        try topics.append(1, to: sport)
        sport.pump(now: topics.now, isMoreAtHand: false)
        #expect(topics.asked == [.init(bundleID: Self.sport, purpose: .first)])
    }

    @Test("The end of a shared connection is counted once, and fails the topics on it; the last one fails all topics")
    func failure() throws {
        let (topics, news, sport) = makeTopics()
        let idle = topics.makeLane("com.example.idle", .key(keys.ids[0]))
        let first = try connect(topics, news)
        let second = try connect(topics, sport)
        #expect(first.requestCount == 1 && second.requestCount == 1)
        second.end()
        #expect(topics.disconnected.count == 1 && topics.failed == [Self.sport])
        first.end()
        // By now the other topic has connections of its own.
        #expect(topics.disconnected.count == 2 && topics.failed == [Self.sport, Self.news, idle.topic.bundleID])
    }

    @Test("The topics on a shared connection that ends silently go on at once, each over one of its own, for a minute")
    func secluded() throws {
        let (topics, news, sport) = makeTopics()
        let idle = topics.makeLane("com.example.idle", .key(keys.ids[0]))
        let shared = try connect(topics, news)
        shared.acceptAll()
        for lane in [news, sport] {
            try topics.append(1, to: lane)
            lane.pump(now: topics.now, isMoreAtHand: false)
        }
        #expect(shared.requestCount == 3)
        shared.end()
        topics.pass(.milliseconds(20))
        let own = topics.open()
        #expect(own.map(\.requestCount) == [1, 1])
        #expect(Set([news, sport, idle].compactMap { $0.connections?.identity }).count == 3)
        for connection in own { connection.acceptAll() }
        topics.pass(.seconds(60))
        for lane in [news, sport] { lane.tick(now: topics.now) }
        #expect(Set([news, sport, idle].compactMap { $0.connections?.identity }).count == 1)
    }

    @Test("A topic without requests on a shared connection that ends silently goes on soon, without the others")
    func innocent() throws {
        // The longest waits.
        let (topics, news, sport) = makeTopics(randomBits: { .max })
        let shared = try connect(topics, sport)
        shared.end()
        try topics.append(1, to: news)
        news.pump(now: topics.now, isMoreAtHand: false)
        topics.pass(.milliseconds(20))
        #expect(topics.open().map { $0.owner === sport.connections } == [true])
        topics.pass(.milliseconds(180))
        let next = topics.open()
        #expect(next.map { $0.owner === news.connections } == [true] && next.map(\.requestCount) == [1])
        #expect(sport.connections !== news.connections)
    }

    @Test("A topic that alone uses a connection waits before it connects again after a silent end")
    func notSecluded() throws {
        let topics = ScriptedTopics(keys: keys)
        let news = topics.makeLane(Self.news, .key(keys.ids[0]))
        let connection = try connect(topics, news)
        connection.end()
        topics.pass(.milliseconds(20))
        #expect(topics.open().isEmpty)
        topics.pass(.seconds(1))
        #expect(topics.open().map(\.requestCount) == [1])
    }

    @Test("Shards begin at different addresses, so that together they use all, and so do the credentials of a shard")
    func spread() throws {
        var random = SeededGenerator(seed: 8)
        let shards = (0..<32).map { _ in
            let bits = random.next()
            return ScriptedTopics(randomBits: { bits })
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
        let (topics, news, sport) = makeTopics()
        _ = try connect(topics, news)
        #expect([news, sport].map(\.openConnections) == [1, 0])
        topics.credentials[Self.news] = .certificate(bundleID: Self.news)
        news.tick(now: topics.now)
        #expect([news, sport].map(\.openConnections) == [0, 1])
        topics.credentials[Self.news] = topics.credentials[Self.sport]
        news.tick(now: topics.now)
        #expect([news, sport].map(\.openConnections) == [1, 0])
    }
}
