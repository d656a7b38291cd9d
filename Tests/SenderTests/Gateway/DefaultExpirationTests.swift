import BelfrySupport
import Foundation
import PushSchemas
import Testing

@testable import Sender
@testable import SimulatedServers

/// Requests that say no expiration, and those that say 0.
@Suite("The default of the expiration")
struct DefaultExpirationTests {
    private typealias Bench = ShardBench

    private static let now: Int64 = 1_700_000_000
    private static let month: Int64 = 30 * 86_400

    private func request(_ tokens: [UInt8], expiration: Int64?) -> (String, PushSendRequest) {
        (
            Bench.news,
            .with {
                $0.packedTokens = Data(tokens.flatMap { Array(repeating: $0, count: 32) })
                if let expiration { $0.expiration = expiration }
            }
        )
    }

    /// The expirations with which the gateway gets requests that say none, 0, and one in an hour; of each some alone,
    /// and some for several tokens. Nil: none.
    private func sent(
        over transport: EnvironmentSettings.Transport,
        _ change: (inout BelfryConfiguration) -> Void
    ) throws -> [Int64?] {
        let bench = Bench(over: transport, change)
        defer { bench.shard.leave() }
        bench.setClock(unixSeconds: Self.now)
        bench.assign(0)
        var token: UInt8 = 0
        for expiration in [nil, 0, Self.now + 3600] as [Int64?] {
            try bench.bring([
                request([token + 1], expiration: expiration), request([token + 2, token + 3], expiration: expiration),
            ])
            token += 3
        }
        bench.wait(milliseconds: 1000)
        switch transport {
        case .binary:
            #expect(bench.gateway.accepted(of: Bench.news) == Array(1...9))
            return bench.gateway.expirations.map(Int64.init)
        case .http2:
            let requests = bench.service.requests.sorted { $0.token < $1.token }
            #expect(requests.map(\.token) == Array(1...9))
            return requests.map { Int64($0.value(of: "apns-expiration")) }
        }
    }

    private func each(_ expirations: Int64?...) -> [Int64?] { expirations.flatMap { [$0, $0, $0] } }

    @Test("What says no expiration is stored for 30 days, over HTTP/2 as the service does without the field")
    func unset() throws {
        let said = Self.now + 3600
        let binary = try sent(over: .binary) { _ in }
        #expect(binary == each(Self.now + Self.month, 0, said))
        let http2 = try sent(over: .http2) { _ in }
        #expect(http2 == each(nil, 0, said))
    }

    @Test(
        "With a ttl it is stored for so long, a part of a second counting as a whole one; with 0s it is not stored",
        arguments: [EnvironmentSettings.Transport.binary, .http2]
    )
    func ttl(over transport: EnvironmentSettings.Transport) throws {
        let said = Self.now + 3600
        let seconds = try sent(over: transport) { $0.environments[0].ttl = .milliseconds(6001) }
        #expect(seconds == each(Self.now + 7, 0, said))
        let nothing = try sent(over: transport) { $0.environments[0].ttl = .zero }
        #expect(nothing == each(0, 0, said))
        let ofApp = try sent(over: transport) {
            $0.environments[0].ttl = .zero
            $0.apps[Bench.news, default: .init()].ttl = .seconds(60)
        }
        #expect(ofApp == each(Self.now + 60, 0, said))
    }

    @Test("What waits for longer than its ttl is sent all the same, where one that says so has expired")
    func waits() throws {
        let bench = Bench { $0.environments[0].ttl = .seconds(60) }
        defer { bench.shard.leave() }
        bench.gateway.answers[Bench.news] = { _ in .missingTopic }
        bench.assign(0)
        try bench.bring([request([1], expiration: nil), request([2], expiration: 60), request([3], expiration: nil)])
        bench.wait(milliseconds: 3000)
        bench.setClock(unixSeconds: 1000)
        bench.wait(milliseconds: 3000)
        bench.gateway.answers = [:]
        bench.wait(milliseconds: 5000)
        #expect(bench.gateway.accepted(of: Bench.news) == [1, 3])
        #expect(try bench.offsets(.expired) == [1])
        #expect(bench.gateway.expirations.last == 1060, "from the time when it went to its connection")
    }

    @Test("What waits for its coalescing window is stored from its end on")
    func window() throws {
        let bench = Bench {
            $0.environments[0].ttl = .seconds(60)
            $0.worker.coalescingWindow = .seconds(2)
        }
        defer { bench.shard.leave() }
        bench.setClock(unixSeconds: Self.now)
        bench.assign(0)
        var waiting = request([1], expiration: nil)
        waiting.1.coalescingKey = "score"
        try bench.bring([waiting])
        bench.wait(milliseconds: 1000)
        #expect(bench.gateway.expirations == [])
        bench.setClock(unixSeconds: Self.now + 100)
        bench.wait(milliseconds: 3000)
        #expect(bench.gateway.expirations.map(Int64.init) == [Self.now + 160])
    }
}
