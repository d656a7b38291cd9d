import Testing

@testable import LocalPipeline

@Suite("Partitions of lanes in a worker's log")
struct WorkerLogTests {
    private static func line(
        _ second: Int,
        _ message: String,
        _ shard: Int,
        _ lane: String?,
        _ numbers: String
    ) -> String {
        let lane = lane.map { #""lane":"\#($0)","# } ?? ""
        return #"{"time":"1970-01-01T00:00:0\#(second).000Z","message":"partitions \#(message)","#
            + #""metadata":{\#(lane)"shard":"\#(shard)","partitions":"\#(numbers)"}}"#
    }

    private static let log = [
        line(1, "assigned", 0, "urgent", "[0, 1]"), line(1, "assigned", 1, nil, "[0]"),
        line(2, "assigned", 2, "bulk", "[1]"), line(3, "revoked", 0, "urgent", "[1]"),
        line(4, "lost", 2, "bulk", "[1]"),
    ].joined(separator: "\n")

    @Test("Shards of the normal lane name none, and each lane's partitions are apart")
    func holdings() {
        #expect(WorkerLog.holdings(in: Self.log, by: "shard") == ["0": [0], "1": [0], "2": []])
        #expect(WorkerLog.holdings(in: Self.log, by: "shard", of: .urgent) == ["0": [0]])
        #expect(WorkerLog.holdings(in: Self.log, by: "shard", of: .normal) == ["1": [0]])
        #expect(WorkerLog.holdings(in: Self.log, by: "shard", of: .bulk) == ["2": []])
    }

    @Test("A message was written at the times of its lines")
    func messages() {
        #expect(WorkerLog.seconds(of: "partitions assigned", in: Self.log) == [1, 1, 2])
        #expect(WorkerLog.seconds(of: "partitions", in: Self.log) == [])
    }

    @Test("What is given back or lost, and for how long a shard had it, tells the lane")
    func lanes() {
        #expect(
            WorkerLog.losses(in: Self.log) == [
                .init(second: 3, lane: .urgent, partitions: [1]), .init(second: 4, lane: .bulk, partitions: [1]),
            ]
        )
        #expect(
            WorkerLog.tenures(in: Self.log) == [
                .init(shard: "0", lane: .urgent, partition: 0, start: 1000),
                .init(shard: "0", lane: .urgent, partition: 1, start: 1000, end: 3000),
                .init(shard: "1", partition: 0, start: 1000),
                .init(shard: "2", lane: .bulk, partition: 1, start: 2000, end: 4000, isCutOff: true),
            ]
        )
    }
}

@Suite("The configuration file of a local pipeline")
struct PipelineConfigurationTests {
    private func lines(_ change: (inout LocalPipeline.Options) -> Void) -> [String] {
        var options = LocalPipeline.Options()
        change(&options)
        let configuration = PipelineConfiguration(
            options: options,
            brokers: "a:1",
            redisURL: "redis://b:2",
            gateway: "c:3",
            feedback: "d:4",
            api: "e:5"
        )
        return configuration.text.split(separator: "\n").map(String.init)
    }

    private func section(_ change: (inout LocalPipeline.Options) -> Void) -> String { lines(change).first ?? "" }

    @Test("An app has its own keys and the provider key's team in one section, and none if nothing is said of it")
    func apps() {
        func end(_ transport: PipelineTransport, _ apps: [String: String]) -> [String] {
            lines {
                $0.transport = transport
                $0.topics = ["a.b", "a.c"]
                $0.apps = apps
            }.filter { $0.hasPrefix("keys:") || $0.hasPrefix("apps:") }
        }
        let keys = "keys: {directory: pki/keys, team: BELFRYTEAM}"
        #expect(end(.binary, [:]) == [])
        #expect(end(.binary, ["a.c": "urgent-quota: 9"]) == ["apps: {a.c: {urgent-quota: 9}}"])
        #expect(end(.http2, [:]) == [keys, "apps: {a.b: {team: BELFRYTEAM}}"])
        let both = "apps: {a.b: {team: BELFRYTEAM, urgent-warm: true}, a.c: {urgent-quota: 9}}"
        #expect(end(.http2, ["a.b": "urgent-warm: true", "a.c": "urgent-quota: 9"]) == [keys, both])
    }

    @Test("Prefix and session stand there if they are set, and further properties behind them")
    func kafka() {
        let usual = #"session.timeout.ms: "6000", heartbeat.interval.ms: "1000""#
        #expect(
            section { $0.kafkaProperties = ", x: 1" } == #"kafka: {brokers: "a:1", properties: {\#(usual), x: 1}}"#
        )
        let named = section {
            $0.prefix = "mine."
            $0.sessionMilliseconds = nil
        }
        #expect(named == #"kafka: {brokers: "a:1", prefix: mine., properties: {heartbeat.interval.ms: "1000"}}"#)
    }
}
