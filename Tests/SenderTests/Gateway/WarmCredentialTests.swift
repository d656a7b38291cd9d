import PipelineCore
import ProviderCredentials
import Testing

@testable import Sender

/// Connections that topics share, and that are kept open though nothing is to be sent.
@Suite("Credentials that are kept warm")
struct WarmCredentialTests {
    private static let news = "com.example.news"
    private static let sport = "com.example.sport"

    private let keys: ScriptedKeys

    init() throws { keys = try ScriptedKeys() }

    /// Two topics of one key, of which the second is kept warm.
    private func makeTopics() -> (topics: ScriptedTopics, news: StreamLane, sport: StreamLane) {
        let topics = ScriptedTopics(keys: keys)
        let credential = AppCredential.key(keys.ids[0])
        let lanes = [Self.news, Self.sport].map { topics.makeLane($0, credential) }
        lanes[1].topic.flow.isKeptWarm = true
        return (topics, lanes[0], lanes[1])
    }

    /// Lets a second pass.
    private func pass(_ topics: ScriptedTopics, _ lane: StreamLane) {
        lane.keepWarm(now: topics.now)
        topics.pass(.seconds(1))
    }

    @Test("Topics of a key share the connection that one of them keeps warm; it is asked for in that one's name")
    func shared() throws {
        let (topics, news, sport) = makeTopics()
        pass(topics, sport)
        #expect(topics.asked == [.init(bundleID: Self.sport, purpose: .first)])
        let connection = try #require(topics.open().first)
        #expect(connection.owner === news.connections && connection.requestCount == 0)
        for _ in 0..<5 { pass(topics, sport) }
        #expect(topics.asked.count == 1 && !connection.isClosed)
        connection.end()
        for _ in 0..<5 { pass(topics, sport) }
        #expect(topics.asked.map(\.purpose) == [.first, .successor])
        #expect(topics.open().count == 1)
    }

    @Test("A request does not wait for the turn in the budget of a connection that only keeps warm")
    func budget() throws {
        let (topics, news, sport) = makeTopics()
        topics.hasBudgetFrom = topics.now + .seconds(60)
        for _ in 0..<5 { pass(topics, sport) }
        #expect(topics.asked.count == 1 && topics.open().isEmpty)
        topics.hasBudgetFrom = nil
        try topics.append(1, to: news)
        news.pump(now: topics.now, isMoreAtHand: false)
        #expect(topics.asked.last == ScriptedTopics.Asked(bundleID: Self.news, purpose: .first))
        #expect(topics.open().map(\.requestCount) == [1])
    }

    @Test("A refused certificate, or login, fails no topic as long as its connection is only kept warm")
    func refused() throws {
        let (topics, news, sport) = makeTopics()
        pass(topics, sport)
        let connection = try #require(topics.open().first)
        for reason in [DisconnectReason.certificateRefused, .proxyRefused] {
            topics.topics.disconnected(connection.owner, connection.number, reason)
        }
        #expect(topics.failed.isEmpty && topics.disconnected == [Self.sport, Self.sport])
        try topics.append(1, to: news)
        news.pump(now: topics.now, isMoreAtHand: false)
        topics.topics.disconnected(connection.owner, connection.number, .proxyRefused)
        #expect(Set(topics.failed) == [Self.news, Self.sport])
    }

    @Test(
        "Nor does it when the topic is not kept warm any more, as long as the connection has carried nothing",
        arguments: [false, true]
    )
    func refusedLate(isOpen: Bool) throws {
        let (topics, news, sport) = makeTopics()
        pass(topics, sport)
        if isOpen { topics.open() }
        for _ in 0..<10 { topics.pass(.seconds(1)) }
        let connections = try #require(news.connections)
        let numbers = connections.pool.connections.map(\.number)
        let number = try #require(numbers.first)
        for reason in [DisconnectReason.certificateRefused, .proxyRefused] {
            topics.topics.disconnected(connections, number, reason)
        }
        #expect(topics.failed.isEmpty && topics.disconnected == [Self.sport, Self.sport])
        try topics.append(1, to: news)
        news.pump(now: topics.now, isMoreAtHand: false)
        topics.topics.disconnected(connections, number, .certificateRefused)
        #expect(Set(topics.failed) == [Self.news, Self.sport])
    }

    @Test("A connection that all topics have left is not kept warm")
    func left() throws {
        let (topics, news, sport) = makeTopics()
        pass(topics, sport)
        let connection = try #require(topics.open().first)
        for lane in [news, sport] {
            topics.credentials[lane.topic.bundleID] = .certificate(bundleID: lane.topic.bundleID)
            lane.tick(now: topics.now)
        }
        for _ in 0..<10 { topics.pass(.seconds(1)) }
        #expect(connection.isClosed && topics.asked.count == 1 && topics.topics.all.count == 2)
    }
}
