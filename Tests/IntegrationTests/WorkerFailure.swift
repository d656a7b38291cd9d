import Glibc
import LocalPipeline
import PushSchemas
import Testing
import Workbench

/// The story of a worker that goes in mid-run while another stays.
///
/// Both brokers that tests can have refuse every commit of an eager group once a rebalance is on, unlike Kafka. So only
/// the leaving worker has something in flight when the group changes, and each worker is one member.
struct WorkerFailure {
    private let pipeline: LocalPipeline
    private let kafka: PipelineClient
    private let leaving: ChildProcess
    private let staying: ChildProcess
    private var parts: [[PlannedRecord]] = []

    private static let perPart = 9000

    // MARK: Rules

    /// `kill -9`: nothing is lost, and what is sent twice was not covered by what was committed.
    ///
    /// - Parameter endSession: what makes the broker notice, if it does not by itself.
    static func kill(kafka address: String?, endSession: () throws -> Void = {}) async throws {
        try await with(address) { run in
            try await run.reachMidRun()
            let owned = WorkerLog.partitions(of: run.leaving)
            run.leaving.kill()
            // Everything published so far had been accepted, hence sent. So this is "sent and not covered by the
            // committed state" to the letter. No other worker commits for these partitions before the dead worker's
            // session ends.
            let uncovered = try run.committed().uncovered(of: run.kafka.places, in: owned)
            #expect(uncovered <= run.kafka.books.published - perPart, "the worker was to be killed after commits")

            try endSession()
            try run.waitForPartitions(of: [run.staying])
            let (codes, gateway) = try await run.finish()
            #expect(codes == [128 + SIGKILL, 0])
            #expect(run.kafka.books.missing == 0, "published and without an outcome")
            #expect(gateway.distinct == run.kafka.books.claimed, "claimed as accepted, and accepted")
            #expect(gateway.distinct == run.kafka.books.published)
            #expect(gateway.accepted - gateway.distinct <= uncovered, "sent again")
        }
    }

    /// SIGTERM: nothing is lost and nothing is sent twice; another worker joins and goes on.
    static func stop(kafka address: String?) async throws {
        try await with(address) { run in
            try await run.reachMidRun()
            run.leaving.signal(SIGTERM)
            #expect(try run.leaving.wait(within: patience) == 0)
            // See init: at that broker no worker may join while the one that stays still takes over.
            if address != nil { try run.waitForPartitions(of: [run.staying]) }
            let joining = try run.pipeline.startWorker()
            try run.waitForPartitions(of: [run.staying, joining])
            let (codes, gateway) = try await run.finish()
            #expect(codes == [0, 0, 0])
            #expect(WorkerLog.sum(of: "sent", in: [joining]) > 0, "the new worker goes on")
            #expect(run.kafka.books.missing == 0, "published and without an outcome")
            #expect(gateway.distinct == run.kafka.books.claimed, "claimed as accepted, and accepted")
            #expect(gateway.distinct == run.kafka.books.published)
            #expect(gateway.accepted == gateway.distinct, "each sent once")
        }
    }

    // MARK: Chapters

    private static func with(_ address: String?, _ body: (WorkerFailure) async throws -> Void) async throws {
        try await withPipeline { options in
            options.topics = ["com.example.news", "com.example.sport", "com.example.weather"]
            options.devices = 12_000
            options.partitions = 6
            options.kafka = address
            options.worker =
                "{shards: 1, connections-per-topic: 2, confirmation-window: 1s, connections-per-minute: 6000}"
        } _: { pipeline, kafka in
            try await body(try WorkerFailure(pipeline, kafka))
        }
    }

    /// Starts two workers and waits until both have partitions.
    ///
    /// One joins after the other: two that come at the same moment may wait for each other for ever at the broker in
    /// another process, which then answers neither.
    private init(_ pipeline: LocalPipeline, _ kafka: PipelineClient) throws {
        self.pipeline = pipeline
        self.kafka = kafka
        leaving = try pipeline.startWorker()
        try Self.waitForPartitions(of: [leaving], pipeline, kafka)
        staying = try pipeline.startWorker()
        try Self.waitForPartitions(of: [leaving, staying], pipeline, kafka)
        var plan = RequestPlan(seed: 7, firstNumber: 0, now: unixSeconds())
        let topics = try pipeline.options.topics.map { name in
            let tokens = try pipeline.tokens(of: name, first: 0, count: pipeline.options.devices)
            return RequestPlan.Topic(bundleID: name, living: tokens, uninstalled: [])
        }
        for _ in 0..<3 {
            var records: [PlannedRecord] = []
            for topic in topics {
                records += plan.good(Self.perPart / topics.count, of: topic, from: topic.living)
            }
            plan.shuffle(&records)
            parts.append(records)
        }
        let owned = WorkerLog.partitions(of: leaving)
        let partitions = Int32(pipeline.options.partitions)
        parts[1].removeAll { !owned.contains(KafkaPartitioner.murmur2Partition(key: $0.key, count: partitions)) }
    }

    private func waitForPartitions(of workers: [ChildProcess]) throws {
        try Self.waitForPartitions(of: workers, pipeline, kafka)
    }

    /// Every partition has an owner among these workers, and every one of them owns some.
    private static func waitForPartitions(
        of workers: [ChildProcess],
        _ pipeline: LocalPipeline,
        _ kafka: PipelineClient
    ) throws {
        try kafka.wait(for: "partitions of every worker") {
            let owned = workers.map { WorkerLog.partitions(of: $0) }
            return owned.allSatisfy { !$0.isEmpty }
                && owned.reduce(0) { $0 + $1.count } == pipeline.options.partitions
        }
    }

    private func committed() throws -> CommittedState {
        try CommittedState(brokers: pipeline.brokers, partitions: pipeline.options.partitions)
    }

    /// Publishes until the leaving worker has both: notifications that its commits cover, and others in flight that the
    /// gateway has accepted and no silence has settled.
    private func reachMidRun() async throws {
        try kafka.publish(parts[0])
        try kafka.waitForOutcomes()
        let all = Set(0..<Int32(pipeline.options.partitions))
        try kafka.wait(for: "commits") { try committed().uncovered(of: kafka.places, in: all) == 0 }
        try kafka.publish(parts[1])
        try await kafka.wait(for: "all that was published", at: pipeline.sandbox) {
            $0.distinct == kafka.books.published
        }
    }

    /// Publishes the rest, waits for all outcomes, and stops the workers that are left.
    ///
    /// - Returns: the exit codes of all workers, and what the gateway counted.
    private func finish() async throws -> (codes: [Int32], gateway: SandboxControl.Stats) {
        try kafka.publish(parts[2])
        try kafka.waitForOutcomes()
        let codes = pipeline.stopWorkers()
        // Stopped workers send nothing any more: these are the last numbers.
        return (codes, try await pipeline.sandbox.stats())
    }
}
