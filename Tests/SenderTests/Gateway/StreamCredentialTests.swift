import APNsProtocol
import BelfrySupport
import Foundation
import HTTP2Transport
import NIOCore
import PipelineCore
import PushSchemas
import Testing

@testable import PipelineTestSupport
@testable import Sender
@testable import SimulatedServers

/// Connections by credential: certificates, keys, teams.
@Suite("Credentials of connections over HTTP/2")
struct StreamCredentialTests {
    private typealias Bench = ShardBench

    private static let weather = "com.example.weather"
    private static let now: Int64 = 1_700_000_000

    private let keys: ScriptedKeys

    init() throws { keys = try ScriptedKeys(teams: ["DEF123GHIJ", "OTHER12345"]) }

    /// A shard whose topics news and sport are of one team, weather of another.
    private func makeBench() -> Bench {
        let bench = Bench(over: .http2)
        bench.setClock(unixSeconds: Self.now)
        bench.service.providerTokens = keys.tokens
        bench.service.credentials = [
            Bench.news: .key(keys.ids[0]), Bench.sport: .key(keys.ids[0]), Self.weather: .key(keys.ids[1]),
        ]
        bench.assign(0)
        return bench
    }

    /// Tokens minted, by team.
    private var minted: [String: UInt64] {
        Dictionary(uniqueKeysWithValues: keys.tokens.reports.map { ($0.key.team, $0.minted) })
    }

    // MARK: Sharing

    @Test("Each team has connections of its own, which the topics of a team share")
    func teams() throws {
        let bench = makeBench()
        defer { bench.shard.leave() }
        for token in 1...20 as ClosedRange<UInt8> {
            try bench.bring((Bench.news, [token]), (Bench.sport, [token]), (Self.weather, [token]))
        }
        bench.wait(milliseconds: 2000)
        #expect(bench.service.accepted.count == 60 && bench.service.peers.count == 2)
        for request in bench.service.requests {
            let credential = bench.service.peers[request.connection].credential
            #expect(try ScriptedKeys.key(of: request).map { .key($0) } == credential)
        }
        #expect(bench.service.connections(of: Bench.news) == bench.service.connections(of: Bench.sport))
        #expect(minted == ["DEF123GHIJ": 1, "OTHER12345": 1], "one token for each key")
    }

    @Test("On a shared connection one topic's stop leaves the other's going; probes have new connections, one each")
    func sharedStop() throws {
        let bench = makeBench()
        defer { bench.shard.leave() }
        bench.service.reply = { $0.topic == Bench.sport ? .refuse(.forbidden) : .accept }
        for token in 1...10 as ClosedRange<UInt8> { try bench.bring((Bench.sport, [token]), (Bench.news, [token])) }
        bench.wait(milliseconds: 3000)
        #expect(bench.reason(Bench.sport) == "topic-refused" && bench.reason(Bench.news) == nil)
        #expect(bench.service.accepted(of: Bench.news) == Array(1...10))
        let refused = bench.service.requests.filter { $0.topic == Bench.sport }.map(\.connection)
        let probes = refused.drop { $0 == 0 }
        #expect(probes.count > 1 && Set(probes).count == probes.count, "a bundle may have been added to the key")
        bench.service.reply = { _ in .accept }
        bench.wait(milliseconds: 5000)
        #expect(bench.service.accepted(of: Bench.sport) == Array(1...10))
        #expect(bench.service.peers.count == 1 + probes.count + 1, "it shares again when it works")
        #expect(bench.service.connections(of: Bench.news) == [0] && bench.service.peers.count { !$0.isEnded } == 1)
    }

    @Test("A topic with many rejections gets connections of its own, and shares again when it has few")
    func rejections() throws {
        let bench = makeBench()
        defer { bench.shard.leave() }
        var isBad = true
        bench.service.reply = { request in
            isBad && request.topic == Bench.sport && request.token % 10 == 0 ? .refuse(.badCollapseID) : .accept
        }
        try bench.bring((Bench.news, [1]), (Bench.sport, Array(1...250)))
        bench.wait(milliseconds: 2000)
        #expect(bench.service.peers.count == 1)
        try bench.bring((Bench.news, [2]), (Bench.sport, [251]))
        bench.wait(milliseconds: 2000)
        #expect(bench.service.connections(of: Bench.news) == [0])
        #expect(bench.service.connections(of: Bench.sport) == [0, 1])

        isBad = false
        for _ in 0..<4 { try bench.bring((Bench.sport, Array(1...250))) }
        bench.wait(milliseconds: 5000)
        try bench.bring((Bench.news, [3]), (Bench.sport, [252]))
        bench.wait(milliseconds: 2000)
        #expect(bench.service.requests.last { $0.topic == Bench.sport }?.connection == 0)
        #expect(bench.service.peers.count == 2 && bench.service.peers[1].isEnded, "it is not left behind")
        #expect(bench.service.accepted(of: Bench.sport).count == 25 * 9 + 1 + 1000 + 1)
    }

    // MARK: Provider tokens

    @Test("A provider token that is called expired is not replaced; all goes again over a new connection")
    func expired() throws {
        let bench = makeBench()
        defer { bench.shard.leave() }
        bench.service.reply = { $0.connection == 0 ? .refuse(.expiredProviderToken) : .accept }
        try bench.bring((Bench.news, [1]), (Bench.sport, [2]), (Bench.news, [3]))
        bench.wait(milliseconds: 3000)
        #expect(bench.service.accepted.map(\.token).sorted() == [1, 2, 3] && minted == ["DEF123GHIJ": 1])
        #expect(Set(bench.service.accepted.map(\.connection)) == [1], "the old connection stays of no use")
        #expect(bench.service.requests.count { $0.connection == 0 } == 1)
        #expect(bench.reason(Bench.news) == nil && bench.reason(Bench.sport) == nil)
        #expect(Set(bench.service.requests.map(\.id)).count == 3)
    }

    @Test("The provider token of the next half hour goes over the connections that there are")
    func nextToken() throws {
        let bench = makeBench()
        defer { bench.shard.leave() }
        try bench.bring((Bench.news, [1]))
        bench.wait(milliseconds: 2000)
        bench.setClock(unixSeconds: Self.now + TokenMinting.slotSeconds)
        try bench.bring((Bench.news, [2]))
        bench.wait(milliseconds: 2000)
        #expect(bench.service.accepted(of: Bench.news) == [1, 2] && minted == ["DEF123GHIJ": 2])
        #expect(Set(bench.service.requests.map(\.authorization)).count == 2 && bench.service.peers.count == 1)
    }

    @Test("A provider token refused once more over a new connection stops all of its team, and others go on")
    func teamStops() throws {
        let bench = makeBench()
        defer { bench.shard.leave() }
        bench.service.reply = { request in
            request.topic == Self.weather ? .accept : .refuse(.expiredProviderToken)
        }
        for token in 1...10 as ClosedRange<UInt8> {
            try bench.bring((Bench.news, [token]), (Bench.sport, [token]), (Self.weather, [token]))
        }
        bench.wait(milliseconds: 200)
        #expect(bench.reason(Bench.news) == "team-refused" && bench.reason(Bench.sport) == "team-refused")
        let refused = bench.service.requests.filter { $0.topic != Self.weather }
        #expect(refused.count == 2 && Set(refused.map(\.connection)).count == 2)
        #expect(minted["DEF123GHIJ"] == 1, "the token stays until its slot ends")
        bench.wait(milliseconds: 10_000)
        #expect(bench.service.accepted(of: Self.weather) == Array(1...10) && bench.reason(Self.weather) == nil)
        #expect(minted["DEF123GHIJ"] == 1)

        bench.service.reply = { _ in .accept }
        bench.wait(milliseconds: 10_000)
        #expect(bench.service.accepted(of: Bench.news) == Array(1...10))
        #expect(bench.service.accepted(of: Bench.sport) == Array(1...10))
        #expect(bench.reason(Bench.news) == nil && bench.reason(Bench.sport) == nil)
    }

    @Test("A refusal of the team stops its topics with connections of their own as well")
    func teamStopsApart() throws {
        let bench = makeBench()
        defer { bench.shard.leave() }
        bench.service.reply = { $0.topic == Bench.sport ? .refuse(.badCollapseID) : .accept }
        try bench.bring((Bench.news, [1]), (Bench.sport, Array(1...250)))
        bench.wait(milliseconds: 2000)
        bench.service.reply = { $0.topic == Bench.news ? .refuse(.invalidProviderToken) : .wait }
        try bench.bring((Bench.sport, [1]))
        bench.wait(milliseconds: 1000)
        #expect(bench.service.connections(of: Bench.sport) == [0, 1])
        try bench.bring((Bench.news, [2]))
        bench.wait(milliseconds: 200)
        #expect(bench.reason(Bench.news) == "team-refused" && bench.reason(Bench.sport) == "team-refused")
    }

    @Test("TooManyProviderTokenUpdates keeps the token and replaces the connection")
    func tooManyUpdates() throws {
        let bench = makeBench()
        defer { bench.shard.leave() }
        bench.service.reply = { $0.connection == 0 ? .refuse(.tooManyProviderTokenUpdates) : .accept }
        try bench.bring((Bench.news, [1]), (Bench.news, [2]))
        bench.wait(milliseconds: 2000)
        #expect(bench.service.accepted(of: Bench.news) == [1, 2] && minted == ["DEF123GHIJ": 1])
        #expect(Set(bench.service.requests.map(\.authorization)).count == 1 && bench.service.peers.count == 2)
    }

    @Test("With a key the first request goes alone, with a certificate as many as are allowed")
    func firstRequest() throws {
        let bench = makeBench()
        defer { bench.shard.leave() }
        bench.service.credentials[Bench.sport] = nil
        bench.service.reply = { _ in .wait }
        try bench.bring((Bench.news, [1, 2, 3, 4]), (Bench.sport, [1, 2, 3, 4]))
        bench.wait(milliseconds: 500)
        #expect(bench.service.tokens(of: Bench.news) == [1] && bench.service.tokens(of: Bench.sport) == [1, 2, 3, 4])
        for peer in bench.service.peers { peer.answerAll() }
        bench.wait(milliseconds: 500)
        #expect(bench.service.tokens(of: Bench.news) == [1, 2, 3, 4])
    }

    @Test("A connection that topics share is reported once")
    func reportedOnce() throws {
        let bench = makeBench()
        defer { bench.shard.leave() }
        try bench.bring((Bench.news, [1]), (Bench.sport, [2]), (Self.weather, [3]))
        bench.wait(milliseconds: 2000)
        let topics = bench.shard.report().topics
        #expect(topics.map(\.bundleID) == [Bench.news, Bench.sport, Self.weather])
        #expect(bench.service.peers.count == 2 && topics.map(\.openConnections) == [1, 0, 1])
    }

    @Test("Made-up bundles beyond the limit of a default key become dead letters; those that are named go on")
    func madeUpBundles() throws {
        let bench = Bench(over: .http2) { $0.apps[Bench.sport] = AppOverrides() }
        defer { bench.shard.leave() }
        bench.setClock(unixSeconds: Self.now)
        bench.service.providerTokens = keys.tokens
        let most = AppLimits().onDefaultKey
        let madeUp = (0...most).map { "made.up.\($0)" }
        for bundleID in madeUp + [Bench.sport] { bench.service.credentials[bundleID] = .key(keys.ids[0]) }
        bench.assign(0)
        let request = PushSendRequest.with { $0.packedTokens = Data(repeating: 1, count: 32) }
        try bench.bring((madeUp + [Bench.sport, Bench.news]).map { ($0, request) })
        bench.wait(milliseconds: 2000)
        let letters = bench.producer.records(of: "push.dead-letters")
        #expect(letters.map { $0.header("reason") } == ["bundles-too-many"])
        #expect(letters.first?.header("detail")?.contains(madeUp[most]) == true)
        #expect(try bench.offsets(.deadLettered) == [Int64(most)])
        #expect(bench.service.accepted.count == most + 2)
        #expect(bench.service.accepted(of: Bench.sport) == [1] && bench.service.accepted(of: Bench.news) == [1])
        #expect(bench.committed()?.offset == Int64(most) + 3 && bench.committed()?.metadata == "3;")
    }

    @Test("What no credential of the app may send is a dead letter with push type and cure, until one is there")
    func noCredential() throws {
        let bench = Bench(over: .http2)
        defer { bench.shard.leave() }
        bench.gateway.refusedTypes = [Bench.news: [.liveactivity, .voip]]
        bench.assign(0)
        func bring(_ pushTypes: PushType...) throws {
            let requests = pushTypes.map { pushType in
                PushSendRequest.with {
                    $0.packedTokens = Data(repeating: 1, count: 32)
                    $0.pushType = pushType.rawValue
                }
            }
            try bench.bring(requests.map { (Bench.news, $0) })
            bench.wait(milliseconds: 1000)
        }
        try bring(.liveactivity, .alert, .voip)
        let letters = bench.producer.records(of: "push.dead-letters")
        #expect(letters.map { $0.header("reason") } == ["provider-key-needed", "provider-key-needed"])
        let details = letters.compactMap { $0.header("detail") }
        let starts = [
            "the push type 'liveactivity' needs a provider key; \(Bench.news) has none in environment sandbox.",
            "the push type 'voip' needs a provider key, or a certificate for \(Bench.news).voip; ",
        ]
        for (detail, start) in zip(details, starts) {
            #expect(detail.hasPrefix(start) && detail.contains("keys.directory"), "\(detail)")
        }
        #expect(try bench.offsets(.deadLettered) == [0, 2] && bench.service.requests.map(\.topic) == [Bench.news])

        bench.gateway.refusedTypes = [:]
        bench.wait(milliseconds: 100)
        try bring(.liveactivity)
        #expect(bench.service.accepted(of: Bench.news + ".push-type.liveactivity") == [1])
        #expect(bench.reason(Bench.news) == nil)
    }

    @Test("A certificate of the other environment gets GOAWAY only: said twice, its topic stops, others go on")
    func otherEnvironment() throws {
        let bench = Bench(over: .http2)
        defer { bench.shard.leave() }
        bench.service.greet = { peer in
            guard peer.credential == .certificate(bundleID: Bench.sport) else { return }
            peer.goAway(debugData: #"{"reason":"BadCertificateEnvironment"}"#, last: HTTP2StreamID(rawValue: 0))
        }
        bench.assign(0)
        try bench.bring((Bench.sport, [1]), (Bench.news, [2]))
        bench.wait(milliseconds: 2000)
        #expect(bench.reason(Bench.sport) == "topic-refused" && bench.reason(Bench.news) == nil)
        #expect(bench.service.accepted(of: Bench.news) == [2])
        bench.service.greet = { _ in }
        bench.wait(milliseconds: 10_000)
        #expect(bench.service.accepted(of: Bench.sport) == [1] && bench.reason(Bench.sport) == nil)
    }
}
