import APNsProtocol
import BelfrySupport
import Foundation
import NIOCore
import PipelineCore
import PushSchemas
import Testing

@testable import Sender

/// Keys that are exchanged while the worker runs, and connections that are kept apart by them.
@Suite("Provider keys of connections over HTTP/2")
struct StreamKeyTests {
    private typealias Bench = ShardBench

    private static let now: Int64 = 1_700_000_000

    private func makeBench(
        _ keys: ScriptedKeys,
        _ change: (inout BelfryConfiguration) -> Void = { _ in }
    ) -> Bench {
        let bench = Bench(over: .http2, change)
        bench.setClock(unixSeconds: Self.now)
        bench.service.providerTokens = keys.tokens
        bench.service.credentials = [Bench.news: .key(keys.ids[0]), Bench.sport: .key(keys.ids[0])]
        bench.assign(0)
        return bench
    }

    @Test("Another key in the place of the former is told of once, whichever connection asked for its first token")
    func replacement() throws {
        let keys = try ScriptedKeys()
        var tokens = CredentialTokens(keys.ids[0], keys.tokens) { Self.now * 1000 }
        func at(_ seconds: UInt64) -> MonotonicTime { MonotonicTime(nanoseconds: seconds * 1_000_000_000) }
        let former = tokens.authorization(now: at(0))
        try keys.exchange(0)
        #expect(tokens.authorization(now: at(0)) == former && !tokens.takeReplacement())
        #expect(tokens.authorization(now: at(1)) != former)
        #expect(tokens.takeReplacement() && !tokens.takeReplacement())
    }

    @Test("Another key under the same ID signs the next requests, over a new connection; the old one drains")
    func sameID() throws {
        let keys = try ScriptedKeys()
        let bench = makeBench(keys)
        defer { bench.shard.leave() }
        // Between two ticks, so that requests ask for the token before the tick does.
        bench.wait(milliseconds: 7)
        try bench.bring((Bench.news, [1]))
        bench.wait(milliseconds: 500)
        let former = keys.keys[0]
        try keys.exchange(0)
        for token in 2...250 as ClosedRange<UInt8> {
            try bench.bring((Bench.news, [token]))
            bench.wait(milliseconds: 7)
        }
        bench.wait(milliseconds: 1000)
        #expect(bench.service.accepted(of: Bench.news) == Array(1...250))
        for request in bench.service.requests {
            #expect(try ScriptedKeys.isSigned(request, by: request.connection == 0 ? former : keys.keys[0]))
        }
        #expect(bench.service.peers.count == 2 && bench.service.peers[0].isEnded && !bench.service.peers[1].isEnded)
    }

    @Test("A new key ID has connections of its own, and the former's end when all is answered")
    func newID() throws {
        let keys = try ScriptedKeys(teams: ["DEF123GHIJ", "DEF123GHIJ"])
        let bench = makeBench(keys)
        defer { bench.shard.leave() }
        bench.service.reply = { $0.token == 1 ? .wait : .accept }
        try bench.bring((Bench.news, [1]))
        bench.wait(milliseconds: 500)
        bench.service.credentials = [Bench.news: .key(keys.ids[1])]
        bench.wait(milliseconds: 100)
        try bench.bring((Bench.news, [2, 3]))
        bench.wait(milliseconds: 500)
        #expect(bench.service.accepted.map(\.connection) == [1, 1] && !bench.service.peers[0].isEnded)
        #expect(try bench.service.accepted.allSatisfy { try ScriptedKeys.key(of: $0) == keys.ids[1] })
        bench.service.peers[0].answerAll()
        bench.wait(milliseconds: 500)
        #expect(bench.service.accepted(of: Bench.news) == [2, 3, 1] && bench.service.peers[0].isEnded)
    }

    @Test("A late refusal of the former key sends its request again with the present one, and stops nothing")
    func lateRefusal() throws {
        for reason in [ProviderReason.invalidProviderToken, .forbidden, .expiredProviderToken] {
            let keys = try ScriptedKeys(teams: ["DEF123GHIJ", "DEF123GHIJ"])
            let bench = makeBench(keys)
            defer { bench.shard.leave() }
            bench.service.reply = { _ in .wait }
            try bench.bring((Bench.news, [1]))
            bench.wait(milliseconds: 500)
            bench.service.credentials[Bench.news] = .key(keys.ids[1])
            bench.service.reply = { _ in .accept }
            bench.wait(milliseconds: 100)
            bench.service.peers[0].answerAll(.refuse(reason))
            bench.wait(milliseconds: 500)
            #expect(bench.service.accepted.map(\.connection) == [1] && bench.reason(Bench.news) == nil)
        }
    }

    @Test("Two keys of one team, and one key in two environments, share no connection")
    func apart() throws {
        let keys = try ScriptedKeys(teams: ["DEF123GHIJ", "DEF123GHIJ"])
        let place = HostPort(host: "nowhere", port: 1)
        let bench = makeBench(keys) {
            $0.environments = ["one", "two"].map {
                EnvironmentSettings(name: $0, gateways: [place], transport: .http2)
            }
        }
        defer { bench.shard.leave() }
        bench.service.credentials[Bench.sport] = .key(keys.ids[1])
        for environment in ["one", "two"] {
            for token in 1...5 as ClosedRange<UInt8> {
                let request = PushSendRequest.with {
                    $0.environment = environment
                    $0.packedTokens = Data(repeating: token, count: 32)
                }
                try bench.bring([(Bench.news, request), (Bench.sport, request)])
            }
        }
        bench.wait(milliseconds: 2000)
        #expect(bench.service.accepted.count == 20)
        let peers = bench.service.peers
        #expect(Set(peers.map { "\($0.environment) \($0.credential.name)" }).count == 4 && peers.count == 4)
        for request in bench.service.requests {
            let id = try ScriptedKeys.key(of: request)
            #expect(id == keys.ids[request.topic == Bench.news ? 0 : 1])
            #expect(id.map { .key($0) } == peers[request.connection].credential)
        }
    }

    @Test("After UnrelatedKeyIdInToken a request goes over a new connection; after a second one the team does not work")
    func unrelatedKey() throws {
        let keys = try ScriptedKeys()
        let bench = makeBench(keys)
        defer { bench.shard.leave() }
        bench.service.reply = { $0.connection < 1 ? .refuse(.unrelatedKeyID) : .accept }
        try bench.bring((Bench.news, [1]))
        bench.wait(milliseconds: 1000)
        #expect(bench.service.requests.map(\.connection) == [0, 1] && bench.reason(Bench.news) == nil)

        bench.service.reply = { _ in .refuse(.unrelatedKeyID) }
        try bench.bring((Bench.news, [2]), (Bench.sport, [3]))
        bench.wait(milliseconds: 250)
        #expect(bench.reason(Bench.news) == "team-refused" && bench.reason(Bench.sport) == "team-refused")
        bench.service.reply = { _ in .accept }
        bench.wait(milliseconds: 5000)
        #expect(bench.service.accepted(of: Bench.news) == [1, 2] && bench.service.accepted(of: Bench.sport) == [3])
        #expect(bench.reason(Bench.news) == nil && bench.reason(Bench.sport) == nil)
    }

    @Test("Each probe of a refused team has a new connection, for a key learns nothing on an old one")
    func teamProbes() throws {
        let keys = try ScriptedKeys()
        let bench = makeBench(keys)
        defer { bench.shard.leave() }
        try bench.bring((Bench.news, [1]))
        bench.wait(milliseconds: 500)
        bench.service.reply = { _ in .refuse(.badEnvironmentKeyID) }
        try bench.bring((Bench.news, [2]))
        bench.wait(milliseconds: 3000)
        #expect(bench.reason(Bench.news) == "team-refused")
        let refused = bench.service.requests.dropFirst().map(\.connection)
        #expect(refused.count > 2 && Set(refused).count == refused.count && refused.first == 0)
        bench.service.reply = { _ in .accept }
        bench.wait(milliseconds: 3000)
        #expect(bench.service.accepted(of: Bench.news) == [1, 2] && bench.reason(Bench.news) == nil)
    }
}
