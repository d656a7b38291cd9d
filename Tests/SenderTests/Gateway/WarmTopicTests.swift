import BelfrySupport
import NIOCore
import PipelineCore
import RequestLanes
import TLSTransport
import Testing

@testable import PipelineTestSupport
@testable import Sender
@testable import SimulatedServers

/// Shards that keep connections of an app open though nothing is to be sent.
@Suite("Apps that are kept warm")
struct WarmTopicTests {
    private typealias Bench = ShardBench

    /// A shard whose configuration has an app kept warm.
    private func makeBench(
        over transport: EnvironmentSettings.Transport,
        in lane: RequestLane = .urgent,
        _ change: (inout BelfryConfiguration) -> Void = { _ in }
    ) -> Bench {
        Bench(over: transport, in: lane) { configuration in
            configuration.apps[Bench.news, default: .init()].urgentWarm = true
            change(&configuration)
        }
    }

    /// A shard in which something keeps the app from having a connection at first.
    private func makeHindered(
        over transport: EnvironmentSettings.Transport,
        by hinder: (Bench) -> Void,
        free: (Bench) -> Void
    ) -> Bench {
        let bench = makeBench(over: transport)
        hinder(bench)
        bench.assign(0)
        bench.wait(milliseconds: 5000)
        #expect(attempts(bench) == 0 && bench.shard.stages.gateway.all.isEmpty)
        free(bench)
        bench.wait(milliseconds: 2000)
        #expect(attempts(bench) == 1 && openCount(bench) == 1)
        return bench
    }

    /// Attempts to connect, over either transport.
    private func attempts(_ bench: Bench) -> Int { bench.gateway.attempts.count + bench.service.attempts }

    private func openCount(_ bench: Bench) -> Int {
        bench.shard.report().connections.reduce(0) { $0 + ($1.counts[.open] ?? 0) }
    }

    private func accepted(_ bench: Bench) -> [UInt8] {
        bench.gateway.accepted(of: Bench.news) + bench.service.accepted(of: Bench.news)
    }

    /// The gateway ends the connection.
    private func end(_ bench: Bench) throws {
        let lanes = try #require(bench.shard.stages.gateway.all.first)
        switch lanes.way {
        case .binary(let binary):
            let lane = binary.ownLanes[0]
            lane.connectionEnded(attempt: lane.attempt, error: nil)
        case .streams:
            try #require(bench.service.peers.last).end()
        }
    }

    /// The gateway refuses the certificate of the connection, or of the attempt to make it.
    private func refuse(_ bench: Bench) throws {
        let error = TLSError.certificateRefused(alert: .certificateRevoked, openSSLErrors: [])
        let lanes = try #require(bench.shard.stages.gateway.all.first)
        switch lanes.way {
        case .binary(let binary):
            let lane = binary.ownLanes[0]
            lane.connectionEnded(attempt: lane.attempt, error: error)
        case .streams(let lane):
            let connections = try #require(lane.connections)
            let numbers = connections.pool.connections.map(\.number)
            let number = try #require(numbers.last)
            connections.connectionEnded(attempt: Int(number), error: error)
        }
    }

    /// Sets the app's setting while the shard runs.
    private func keepWarm(_ isWarm: Bool, in bench: Bench) {
        var configuration = bench.shard.settings.configuration
        configuration.apps[Bench.news, default: .init()].urgentWarm = isWarm
        bench.shard.use(bench.shard.settings.changed(to: configuration))
    }

    @Test(
        "A connection is opened with the assignment, before any record; the first notification goes over it",
        arguments: [.binary, .http2] as [EnvironmentSettings.Transport]
    )
    func beforehand(over transport: EnvironmentSettings.Transport) throws {
        let bench = makeBench(over: transport)
        defer { bench.shard.leave() }
        bench.wait(milliseconds: 5000)
        #expect(attempts(bench) == 0, "the shard has no partition")
        bench.assign(0)
        bench.wait(milliseconds: 2000)
        #expect(attempts(bench) == 1 && openCount(bench) == 1)
        bench.wait(milliseconds: 30_000)
        #expect(bench.gateway.writes.isEmpty && bench.service.requests.isEmpty && attempts(bench) == 1)
        try bench.bring((Bench.news, [1]))
        bench.wait(milliseconds: 1000)
        #expect(accepted(bench) == [1] && attempts(bench) == 1)
    }

    @Test(
        "Other lanes open no connection beforehand, nor does the urgent one for an app without the setting",
        arguments: [.binary, .http2] as [EnvironmentSettings.Transport]
    )
    func others(over transport: EnvironmentSettings.Transport) {
        let benches = [
            makeBench(over: transport, in: .normal), makeBench(over: transport, in: .bulk),
            Bench(over: transport, in: .urgent),
        ]
        for bench in benches {
            bench.assign(0)
            bench.wait(milliseconds: 10_000)
            #expect(attempts(bench) == 0 && bench.shard.stages.gateway.all.isEmpty)
            bench.shard.leave()
        }
    }

    @Test("Each environment has its own; over the binary interface each line of tokens, over HTTP/2 one is enough")
    func extent() {
        for (transport, expected) in [(.binary, 6), (.http2, 2)] as [(EnvironmentSettings.Transport, Int)] {
            let bench = makeBench(over: transport) { configuration in
                configuration.worker.connectionsPerTopic = 3
                let place = HostPort(host: "elsewhere", port: 1)
                configuration.environments.append(
                    EnvironmentSettings(name: "test", gateways: [place], transport: transport)
                )
            }
            bench.assign(0)
            bench.wait(milliseconds: 10_000)
            #expect(attempts(bench) == expected && openCount(bench) == expected)
            bench.shard.leave()
        }
    }

    @Test(
        "A connection that ends is opened again, after a back-off",
        arguments: [.binary, .http2] as [EnvironmentSettings.Transport]
    )
    func again(over transport: EnvironmentSettings.Transport) throws {
        let bench = makeBench(over: transport)
        defer { bench.shard.leave() }
        bench.assign(0)
        bench.wait(milliseconds: 2000)
        for ends in 1...3 {
            try end(bench)
            bench.wait(milliseconds: 40)
            #expect(attempts(bench) == ends && openCount(bench) == 0)
            bench.wait(milliseconds: 2000)
            #expect(attempts(bench) == ends + 1 && openCount(bench) == 1)
        }
    }

    @Test(
        "An idle connection is kept, or replaced, while the shard has partitions; then it goes, without another",
        arguments: [(.binary, 4), (.http2, 1)] as [(EnvironmentSettings.Transport, Int)]
    )
    func idle(over transport: EnvironmentSettings.Transport, expected: Int) {
        let bench = makeBench(over: transport) { $0.worker.idleTimeout = .seconds(20) }
        defer { bench.shard.leave() }
        bench.assign(0)
        bench.wait(milliseconds: 70_000)
        #expect(attempts(bench) == expected && openCount(bench) == 1)
        bench.shard.revoke([bench.place(0)], lost: false)
        bench.wait(milliseconds: 30_000)
        #expect(openCount(bench) == 0)
        bench.wait(milliseconds: 60_000)
        #expect(attempts(bench) == expected)
    }

    @Test(
        "A refused certificate, or login, stops the app with its first notification, and not before",
        arguments: [.binary, .http2] as [EnvironmentSettings.Transport]
    )
    func refused(over transport: EnvironmentSettings.Transport) throws {
        let certificate = TLSError.certificateRefused(alert: .certificateRevoked, openSSLErrors: [])
        let login = ProxyFailure(
            of: try ProxySettings(url: "http://me:sesame@proxy.example:3128"),
            target: HostPort(host: "gateway.example", port: 443),
            .noTunnel(.loginRefused(status: 407, schemes: ["basic"]))
        )
        for (trouble, reason) in [(certificate, "certificate-refused"), (login, "proxy-refused")]
            as [(any Error, String)]
        {
            let bench = makeBench(over: transport)
            defer { bench.shard.leave() }
            bench.gateway.trouble = trouble
            bench.gateway.unreachable = [Bench.news]
            bench.service.trouble = trouble
            bench.service.isUnreachable = true
            bench.assign(0)
            bench.wait(milliseconds: 20_000)
            #expect(attempts(bench) > 0 && bench.reason(Bench.news) == nil)
            try bench.bring((Bench.news, [1]))
            bench.wait(milliseconds: 1000)
            #expect(bench.reason(Bench.news) == reason)
            bench.gateway.unreachable = []
            bench.service.isUnreachable = false
            bench.wait(milliseconds: 10_000)
            #expect(accepted(bench) == [1] && bench.reason(Bench.news) == nil)
        }
    }

    @Test(
        "Nor does it stop the app when the setting is gone, as long as the connection has carried nothing",
        arguments: [.binary, .http2] as [EnvironmentSettings.Transport],
        [false, true]
    )
    func refusedLate(over transport: EnvironmentSettings.Transport, isOpen: Bool) throws {
        let bench = makeBench(over: transport)
        defer { bench.shard.leave() }
        bench.gateway.isSilent = !isOpen
        bench.service.connectTime = isOpen ? TimeAmount.zero : .minutes(1)
        bench.assign(0)
        bench.wait(milliseconds: 2000)
        #expect(attempts(bench) == 1 && openCount(bench) == (isOpen ? 1 : 0))
        keepWarm(false, in: bench)
        bench.wait(milliseconds: 10_000)
        try refuse(bench)
        bench.wait(milliseconds: 1000)
        #expect(attempts(bench) == 1 && openCount(bench) == 0 && bench.reason(Bench.news) == nil)
        bench.gateway.isSilent = false
        bench.service.connectTime = .zero
        try bench.bring((Bench.news, [1]))
        bench.wait(milliseconds: 2000)
        #expect(accepted(bench) == [1] && attempts(bench) == 2)
    }

    @Test(
        "Without partitions a connection that ends is not opened again, with others it is",
        arguments: [.binary, .http2] as [EnvironmentSettings.Transport]
    )
    func revoked(over transport: EnvironmentSettings.Transport) throws {
        let bench = makeBench(over: transport)
        defer { bench.shard.leave() }
        bench.assign(0)
        bench.wait(milliseconds: 2000)
        bench.shard.revoke([bench.place(0)], lost: true)
        bench.wait(milliseconds: 10_000)
        #expect(openCount(bench) == 1, "it is left to the idle rule")
        try end(bench)
        bench.wait(milliseconds: 60_000)
        #expect(attempts(bench) == 1 && openCount(bench) == 0)
        bench.assign(1)
        bench.wait(milliseconds: 2000)
        #expect(attempts(bench) == 2 && openCount(bench) == 1)
    }

    @Test(
        "Without a certificate none is opened, nor kept up when the certificate is gone",
        arguments: [.binary, .http2] as [EnvironmentSettings.Transport]
    )
    func certificate(over transport: EnvironmentSettings.Transport) throws {
        let bench = makeHindered(over: transport) {
            $0.gateway.missing = [Bench.news]
        } free: {
            #expect($0.shard.stages.group.directory.accounts.isEmpty)
            $0.gateway.missing = []
        }
        defer { bench.shard.leave() }
        bench.gateway.missing = [Bench.news]
        bench.wait(milliseconds: 1000)
        try end(bench)
        bench.wait(milliseconds: 10_000)
        #expect(attempts(bench) == 1 && openCount(bench) == 0)
        bench.gateway.missing = []
        bench.wait(milliseconds: 3000)
        #expect(attempts(bench) == 2 && openCount(bench) == 1)
    }

    @Test(
        "For a paused app none is opened; over the binary interface the open one is closed",
        arguments: [.binary, .http2] as [EnvironmentSettings.Transport]
    )
    func paused(over transport: EnvironmentSettings.Transport) throws {
        let bench = makeHindered(over: transport, by: { $0.pull(.pause) }, free: { $0.pull() })
        defer { bench.shard.leave() }
        bench.pull(.pause)
        bench.wait(milliseconds: 10_000)
        #expect(openCount(bench) == (transport == .binary ? 0 : 1))
        if transport == .http2 { try end(bench) }
        bench.wait(milliseconds: 10_000)
        #expect(attempts(bench) == 1 && openCount(bench) == 0)
        bench.pull()
        bench.wait(milliseconds: 2000)
        #expect(attempts(bench) == 2 && openCount(bench) == 1)
    }

    @Test(
        "An app that does not work is kept warm again when a notification has shown that it works",
        arguments: [.binary, .http2] as [EnvironmentSettings.Transport]
    )
    func stopped(over transport: EnvironmentSettings.Transport) throws {
        let bench = makeBench(over: transport)
        defer { bench.shard.leave() }
        bench.assign(0)
        bench.wait(milliseconds: 2000)
        let topic = try #require(bench.shard.stages.group.directory.accounts.first?.topic)
        let now = bench.shard.now
        topic.health.change { $0.failed(.unreachable, now: now, random: 0) }
        bench.wait(milliseconds: 10_000)
        if transport == .http2 { try end(bench) }
        bench.wait(milliseconds: 10_000)
        #expect(attempts(bench) == 1 && openCount(bench) == 0)
        try bench.bring((Bench.news, [7]))
        bench.wait(milliseconds: 10_000)
        #expect(accepted(bench) == [7] && attempts(bench) == 2 && bench.reason(Bench.news) == nil)
        try end(bench)
        bench.wait(milliseconds: 2000)
        #expect(attempts(bench) == 3 && openCount(bench) == 1)
    }

    @Test(
        "The setting counts while the shard runs",
        arguments: [.binary, .http2] as [EnvironmentSettings.Transport]
    )
    func changed(over transport: EnvironmentSettings.Transport) throws {
        let bench = Bench(over: transport, in: .urgent)
        defer { bench.shard.leave() }
        bench.assign(0)
        bench.wait(milliseconds: 2000)
        #expect(attempts(bench) == 0)
        keepWarm(true, in: bench)
        bench.wait(milliseconds: 2000)
        #expect(attempts(bench) == 1 && openCount(bench) == 1)
        keepWarm(false, in: bench)
        bench.wait(milliseconds: 10_000)
        #expect(openCount(bench) == 1, "it is left to the idle rule")
        try end(bench)
        bench.wait(milliseconds: 10_000)
        #expect(attempts(bench) == 1 && openCount(bench) == 0)
    }

    @Test("Of several apps one can be taken away, and come again; without partitions none is kept warm")
    func severalApps() {
        let bench = makeBench(over: .binary) { $0.apps[Bench.sport, default: .init()].urgentWarm = true }
        defer { bench.shard.leave() }
        func kept() -> [String] {
            let topics = bench.shard.stages.group.directory.accounts.compactMap(\.topic)
            return topics.filter(\.flow.isKeptWarm).map(\.bundleID)
        }
        bench.assign(0)
        bench.wait(milliseconds: 2000)
        #expect(kept() == [Bench.news, Bench.sport])
        for isWarm in [false, true] {
            keepWarm(isWarm, in: bench)
            bench.wait(milliseconds: 2000)
            #expect(kept() == (isWarm ? [Bench.news, Bench.sport] : [Bench.sport]))
        }
        bench.shard.revoke([bench.place(0)], lost: true)
        bench.wait(milliseconds: 2000)
        #expect(kept().isEmpty && bench.shard.stages.warmTopics.isEmpty)
    }
}
