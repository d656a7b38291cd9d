import RequestLanes
import Testing

@testable import BelfrySupport
@testable import BelfryTools

/// `belfry config check --connect`: the lanes that workers would serve.
@Suite struct LaneFindingsTests {
    private let all = ["push.requests.urgent": 4, "push.requests": 12, "push.requests.bulk": 2]

    private func findings(
        _ partitions: [String: Int],
        settings: [RequestLane: [String: String]] = [:],
        prefix: String = "",
        _ change: (inout WorkerSettings) -> Void = { _ in }
    ) -> [ConfigurationFinding] {
        var kafka = KafkaSettings()
        kafka.prefix = prefix
        var worker = WorkerSettings()
        change(&worker)
        return LaneFindings(kafka, worker, partitions: partitions).findings(settings)
    }

    @Test("Each lane is told with its Kafka topic and partitions, of which lanes may have different numbers")
    func served() {
        let found = findings(all)
        #expect(
            found.map(\.text) == [
                "good: worker.lanes: workers serve urgent (push.requests.urgent, 4 partitions), "
                    + "normal (push.requests, 12 partitions), bulk (push.requests.bulk, 2 partitions)"
            ]
        )
        let bulk = findings(["a.push.requests.bulk": 1, "push.requests": 12], prefix: "a.") {
            ($0.lanes, $0.shards) = ([.bulk], 1)
        }
        #expect(bulk.map(\.found) == ["workers serve bulk (a.push.requests.bulk, 1 partition)"])
    }

    @Test("A lane without a Kafka topic is noted, with the command that makes it; one that is not wanted is not")
    func missing() {
        let found = findings(["push.requests": 12])
        #expect(found.map(\.verdict) == [.good, .note, .note])
        #expect(found[0].found == "workers serve normal (push.requests, 12 partitions)")
        #expect(found[1].found.hasPrefix("urgent is not served: push.requests.urgent is missing; belfry topics create"))
        #expect(found[2].found.hasPrefix("bulk is not served: push.requests.bulk is missing"))
        #expect(findings(["push.requests": 12]) { $0.lanes = [.normal] }.map(\.verdict) == [.good])
        #expect(findings([:]).isEmpty, "the Kafka topic that workers wait for is told as missing elsewhere")
    }

    @Test("Workers wait for the normal lane alone if they are to serve it, else for all of their lanes")
    func needed() {
        var worker = WorkerSettings()
        #expect(worker.neededLanes == [.normal])
        for lanes in [[.urgent], [.urgent, .bulk]] as [[RequestLane]] {
            worker.lanes = lanes
            #expect(worker.neededLanes == lanes)
        }
        let found = findings(["push.requests.bulk": 2]) { $0.lanes = [.urgent, .bulk] }
        #expect(found.map(\.verdict) == [.good], "what workers wait for is told as missing elsewhere")
    }

    @Test("A lane with fewer partitions than a worker has shards for it is noted")
    func idle() {
        let found = findings(all) { $0.shards = 4 }
        #expect(found.map(\.verdict) == [.good, .note])
        #expect(found[1].key == "worker.shards")
        #expect(found[1].found.hasPrefix("push.requests.bulk has 2 partitions, and each worker 4 shards for it"))
    }

    @Test("A lane's Kafka topic that is compacted would lose notifications, which is a fault, as for the worker")
    func compacted() {
        let found = findings(all, settings: [.urgent: ["cleanup.policy": "compact,delete"], .normal: [:]])
        #expect(found.map(\.verdict) == [.good, .fault])
        #expect(found[1].found.hasPrefix("push.requests.urgent is compacted (cleanup.policy=compact,delete): "))
        #expect(
            found[1].cure?.hasSuffix("--entity-name push.requests.urgent --add-config cleanup.policy=delete") == true
        )
        #expect(findings(all, settings: [.bulk: ["cleanup.policy": "delete"]]).map(\.verdict) == [.good])
    }
}
