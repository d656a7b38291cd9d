import Glibc
import LocalPipeline
import Testing
import Workbench

extension IntegrationTests {
    struct RebalanceTests {
        @Test(
            "A worker joins and another leaves while notifications flow: nothing is lost",
            arguments: [
                Membership(strategy: "range"), Membership(strategy: "cooperative-sticky"),
                Membership(strategy: "cooperative-sticky", isStatic: true),
            ]
        )
        func comingAndGoing(membership: Membership) async throws {
            try await withPipeline { options in
                options.devices = 3000
                options.partitions = 4
                options.worker = Churn.worker
            } _: { pipeline, kafka in
                let repeated = try await Churn(pipeline, kafka, membership).run()
                // This broker refuses commits while it rebalances. An eager group stands still then; in a cooperative
                // one everything goes on, and what is done meanwhile is repeated where a partition moves.
                if membership.strategy == "range" { #expect(repeated <= Churn.repetitionLimit) }
            }
        }

        @Test("A worker whose session ended drops what it had, commits nothing of it, and goes on as a new member")
        func lost() async throws {
            try await withPipeline { options in
                options.worker = "{shards: 1, connections-per-topic: 1, confirmation-window: 2s}"
            } _: { pipeline, kafka in
                let frozen = try pipeline.startWorker()
                var records = Records(tokens: try pipeline.tokens(of: news, first: 0, count: 300))
                try kafka.deliver(try records.record(to: records.tokens))
                let all: Set<Int32> = [0, 1]
                try kafka.wait(for: "commits") { try uncovered(kafka, pipeline, all) == 0 }
                try kafka.publish([try records.record(to: records.tokens)])
                try await kafka.wait(for: "all that was published", at: pipeline.sandbox) { $0.distinct == 600 }
                frozen.signal(SIGSTOP)
                let owed = try uncovered(kafka, pipeline, all)

                let other = try pipeline.startWorker()
                try kafka.waitForOutcomes()
                #expect(WorkerLog.partitions(of: other) == all)
                // This broker refuses commits while it rebalances.
                try kafka.wait(for: "commits") { try uncovered(kafka, pipeline, all) == 0 }
                frozen.signal(SIGCONT)
                try frozen.waitForLogLine(with: "partitions lost", within: patience)
                try kafka.wait(for: "partitions of both") {
                    WorkerLog.partitions(of: frozen).count == 1 && WorkerLog.partitions(of: other).count == 1
                }
                try kafka.deliver(try records.record(to: records.tokens))
                // When one of them leaves, too.
                try kafka.wait(for: "commits") { try uncovered(kafka, pipeline, all) == 0 }
                #expect(pipeline.stopWorkers() == [0, 0])
                #expect(try uncovered(kafka, pipeline, all) == 0, "no commit of what was lost took anything back")
                let gateway = try await pipeline.sandbox.stats()
                #expect(gateway.distinct == 900)
                #expect(gateway.accepted - gateway.distinct <= owed, "sent again")
            }
        }

        private func uncovered(
            _ kafka: PipelineClient,
            _ pipeline: LocalPipeline,
            _ partitions: Set<Int32>
        ) throws -> Int {
            try CommittedState(brokers: pipeline.brokers, partitions: pipeline.options.partitions)
                .uncovered(of: kafka.places, in: partitions)
        }
    }
}

/// Membership of a test's workers in their group.
struct Membership: CustomTestStringConvertible {
    var strategy: String
    /// A member that comes back under its old name needs no rebalance.
    var isStatic = false

    /// Variables of a worker's environment that set its membership.
    func environment(of worker: String) -> [String: String] {
        var variables = ["BELFRY_KAFKA_PROPERTIES_PARTITION_ASSIGNMENT_STRATEGY": strategy]
        if isStatic { variables["BELFRY_KAFKA_PROPERTIES_GROUP_INSTANCE_ID"] = worker }
        return variables
    }

    var testDescription: String { isStatic ? "\(strategy), static" : strategy }
}

/// Workers that come and go while notifications flow.
private struct Churn {
    /// Little may be out at once, so that little can be repeated.
    static let worker =
        "{shards: 1, connections-per-topic: 1, confirmation-window: 300ms, connections-per-minute: 6000, "
        + "max-uncommitted: 100, batch: 2}"
    /// Two rebalances that may move each of four partitions; beyond `max-uncommitted` a partition is not read on, but
    /// two batches of two records of up to 39 tokens may be under way. That much is out when the partitions are taken
    /// back, and as much may have been done twice since the last commit that the broker took: half a second ago, in
    /// windows of 300 ms.
    static let repetitionLimit = 2 * 4 * 3 * (100 + 2 * 2 * 39)

    private let pipeline: LocalPipeline
    private let kafka: PipelineClient
    private let membership: Membership

    init(_ pipeline: LocalPipeline, _ kafka: PipelineClient, _ membership: Membership) {
        self.pipeline = pipeline
        self.kafka = kafka
        self.membership = membership
    }

    /// Checks that nothing was lost.
    ///
    /// - Returns: how many notifications were accepted once more.
    func run() async throws -> Int {
        let tokens = try pipeline.tokens(of: news, first: 0, count: pipeline.options.devices)
        let topic = RequestPlan.Topic(bundleID: news, living: tokens, uninstalled: [])
        var plan = RequestPlan(seed: 11, firstNumber: 0, now: unixSeconds())
        let flow = { (what: String, condition: () -> Bool) throws in
            let deadline = ContinuousClock.now + patience
            let wanted = kafka.books.outcomes.count + 400
            while !condition() || kafka.books.outcomes.count < wanted {
                guard ContinuousClock.now < deadline else { throw ChildProcess.Failure(description: "no \(what)") }
                if kafka.books.missing < 1000 { try kafka.publish(plan.good(100, of: topic, from: tokens)) }
                kafka.pump(timeoutMilliseconds: 2)
            }
        }
        let first = try pipeline.startWorker(environment: membership.environment(of: "a"))
        try flow("partitions of the first worker") { owned(first) == pipeline.options.partitions }
        let second = try pipeline.startWorker(environment: membership.environment(of: "b"))
        try flow("partitions of both") {
            owned(first) > 0 && owned(second) > 0 && owned(first) + owned(second) == pipeline.options.partitions
        }
        first.signal(SIGTERM)
        try flow("partitions of the second worker") { !first.isRunning && owned(second) == pipeline.options.partitions }
        try kafka.waitForOutcomes()
        #expect(pipeline.stopWorkers() == [0, 0])
        let gateway = try await pipeline.sandbox.stats()
        #expect(kafka.books.missing == 0, "published and without an outcome")
        #expect(gateway.distinct == kafka.books.published && kafka.books.claimed == kafka.books.published)
        return gateway.accepted - gateway.distinct
    }

    private func owned(_ worker: ChildProcess) -> Int {
        WorkerLog.partitions(of: worker).count
    }
}
