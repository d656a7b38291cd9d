import BelfrySupport
import Testing

@testable import BelfryTools
@testable import KafkaClient
@testable import PushTopics

@Suite("Replicas of topics that are created")
struct TopicSetupTests {
    /// A cluster that remembers what it was asked to create.
    private final class ScriptedCluster: TopicCluster {
        var brokers = 1
        /// Brokers older than 2.4 do not.
        var knowsDefault = true
        var existing: [String: Int] = [:]
        private(set) var created: [String: Int] = [:]
        private(set) var settings: [String: [String]] = [:]

        func partitionCounts(timeoutMilliseconds: Int32) throws(KafkaError) -> [String: Int] { existing }

        func brokerCount(timeoutMilliseconds: Int32) throws(KafkaError) -> Int { brokers }

        func createTopic(
            _ name: String,
            partitions: Int,
            replication: Int,
            configuration: [(String, String)],
            timeoutMilliseconds: Int32
        ) throws(KafkaError) -> Bool {
            guard replication != -1 || knowsDefault else {
                // `_UNSUPPORTED_FEATURE`
                throw KafkaError(code: -165, name: "u", message: "no default", isRetriable: false, isFatal: false)
            }
            created[name] = replication
            settings[name] = configuration.map { "\($0.0)=\($0.1)" }
            return true
        }
    }

    private let layout = TopicLayout(partitions: 2)

    private func create(in cluster: ScriptedCluster, replication: Int = -1) throws -> AppReport {
        AppReport(topics: try TopicSetup.createMissing(layout, replication: replication, in: cluster))
    }

    @Test("Where brokers know a default, it is theirs, and nothing is said of it")
    func brokersDefault() throws {
        let cluster = ScriptedCluster()
        let report = try create(in: cluster)
        #expect(cluster.created.count == 9)
        #expect(cluster.created.values.allSatisfy { $0 == -1 })
        #expect(report.text.contains("push.feedback: 2 partitions, created\n"))
        #expect(!report.json.contains("replicas"))
    }

    @Test(
        "Where brokers know none, partitions get as many replicas as there are brokers, at most 3, which is told",
        arguments: [(1, 1), (2, 2), (3, 3), (5, 3)]
    )
    func older(brokers: Int, replicas: Int) throws {
        let cluster = ScriptedCluster()
        cluster.knowsDefault = false
        cluster.brokers = brokers
        let report = try create(in: cluster)
        #expect(cluster.created.count == 9)
        #expect(cluster.created.values.allSatisfy { $0 == replicas })
        let noun = replicas == 1 ? "replica" : "replicas"
        #expect(
            report.text.contains(
                "push.feedback: 2 partitions, created with \(replicas) \(noun): the brokers know no default\n"
            )
        )
        #expect(
            report.json.contains(
                #"{"name":"push.feedback","partitions":2,"created":true,"replicas":\#(replicas)}"#
            )
        )
    }

    @Test("A number that was named is taken as it is")
    func named() throws {
        let cluster = ScriptedCluster()
        cluster.knowsDefault = false
        let report = try create(in: cluster, replication: 2)
        #expect(cluster.created.values.allSatisfy { $0 == 2 })
        #expect(!report.text.contains("replica"))
    }

    @Test("Topics that exist are not created, and nothing is said of their replicas")
    func existing() throws {
        let cluster = ScriptedCluster()
        cluster.knowsDefault = false
        cluster.existing = ["push.feedback": 2]
        let report = try create(in: cluster)
        #expect(cluster.created["push.feedback"] == nil)
        #expect(report.text.contains("push.feedback: 2 partitions, exists\n"))
        #expect(report.topics.count { $0.chosenReplicas == 1 } == 8)
    }

    @Test("Beside a topic with another number of partitions none is created: that number would hold for good")
    func forgottenCount() throws {
        let cluster = ScriptedCluster()
        cluster.existing = ["push.requests": 48, "push.feedback": 2]
        let report = try create(in: cluster)
        #expect(cluster.created.isEmpty && report.topics.map(\.name) == ["push.requests", "push.feedback"])
        let error = #expect(throws: ToolError.self) { try TopicSetup.checked(report, against: layout) }
        #expect(error.map { "\($0)".contains("push.requests exists with 48 partitions, not 2") } == true)
    }

    @Test("The Kafka topics of lanes are made beside those of an older installation, or left as they were made")
    func lanes() throws {
        let cluster = ScriptedCluster()
        for topic in layout.topics { cluster.existing[topic.name] = 2 }
        cluster.existing["push.requests.urgent"] = 5
        cluster.existing["push.requests.bulk"] = nil
        let report = try TopicSetup.checked(create(in: cluster), against: layout)
        #expect(cluster.created.keys.sorted() == ["push.requests.bulk"])
        #expect(report.text.contains("push.requests.bulk: 2 partitions, created"))
        #expect(report.text.contains("push.requests.urgent: 5 partitions, exists"))
    }

    @Test("What the brokers refuse for another reason is not tried again")
    func refused() {
        struct Refusing: TopicCluster {
            let error: KafkaError

            func partitionCounts(timeoutMilliseconds: Int32) throws(KafkaError) -> [String: Int] { [:] }
            func brokerCount(timeoutMilliseconds: Int32) throws(KafkaError) -> Int { 1 }
            func createTopic(
                _ name: String,
                partitions: Int,
                replication: Int,
                configuration: [(String, String)],
                timeoutMilliseconds: Int32
            ) throws(KafkaError) -> Bool { throw error }
        }
        // `INVALID_REPLICATION_FACTOR`: there are fewer brokers than the default asks for.
        let error = KafkaError(code: 38, name: "r", message: "too few", isRetriable: false, isFatal: false)
        #expect(error.isInvalidReplication)
        #expect(throws: error) {
            try TopicSetup.createMissing(layout, replication: -1, in: Refusing(error: error))
        }
        // Neither is what is unsupported even with a number: a broker that cannot create topics at all.
        let unsupported = KafkaError(code: -165, name: "u", message: "no", isRetriable: false, isFatal: false)
        #expect(throws: unsupported) {
            try TopicSetup.createMissing(layout, replication: -1, in: Refusing(error: unsupported))
        }
    }

    @Test("Records that are witnesses of time get the broker's when their topics are created")
    func brokerTime() throws {
        let cluster = ScriptedCluster()
        _ = try create(in: cluster)
        #expect(cluster.settings["push.registrations"] == ["message.timestamp.type=LogAppendTime"])
        #expect(cluster.settings["push.requests"] == [])
        let levers = ["cleanup.policy=compact", "message.timestamp.type=LogAppendTime"]
        #expect(cluster.settings["push.controls"] == levers)
    }
}
