import Foundation
import LocalPipeline
import PushSchemas
import Workbench

/// The program under test: built beside the test bundle.
func belfryExecutable() throws -> String {
    let bundle = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    return URL(fileURLWithPath: bundle).deletingLastPathComponent().appendingPathComponent("belfry").path
}

/// Broker, Redis and sandbox for one test, with a producer and a follower of outcomes; the test starts the roles.
///
/// Everything that was started is ended when `body` returns or throws. The directory with the logs stays if it throws.
func withPipeline(
    _ configure: (inout LocalPipeline.Options) -> Void = { _ in },
    _ body: (LocalPipeline, PipelineClient) async throws -> Void
) async throws {
    var options = LocalPipeline.Options()
    options.topics = [news]
    options.devices = 1000
    options.partitions = 2
    options.worker = fastWorker
    configure(&options)
    // Many tests wait for it, and for the group behind it, several times. A server refuses less than 6 s.
    if options.kafka == nil { options.sessionMilliseconds = 4000 }
    let directory = NSTemporaryDirectory() + "belfry-integration-\(UUID().uuidString)"
    let pipeline = try LocalPipeline(options, executable: try belfryExecutable(), directory: directory)
    do {
        defer { pipeline.stop() }
        let kafka = try PipelineClient(brokers: pipeline.brokers)
        defer { kafka.close() }
        try await body(pipeline, kafka)
    }
    try FileManager.default.removeItem(atPath: directory)
}

/// The bundle of tests that need one only.
let news = "com.example.news"

/// One shard, and little patience: for tests in which a few notifications are sent one after the other.
let fastWorker =
    "{shards: 1, connections-per-topic: 1, confirmation-window: 300ms, connections-per-minute: 6000, "
    + "backoff-base: 100ms}"

/// Longest time for something that takes a second or two on an idle machine.
let patienceSeconds = 90.0
let patience = Duration.seconds(90)

func unixSeconds() -> Int64 {
    Int64(Date().timeIntervalSince1970)
}

extension PipelineClient {
    /// Outcome of the first token of the record published last.
    var lastKind: PushOutcomeKind? {
        places.last.flatMap {
            books.outcomes[.init(lane: $0.lane, partition: $0.partition, offset: $0.offset, token: 0)]
        }
    }

    /// Publishes records and waits for their outcomes.
    func deliver(_ records: PlannedRecord...) throws {
        try publish(records)
        try waitForOutcomes()
    }

    /// Publishes a tuple of the feedback service, as a harvester does.
    func publishFeedback(_ token: [UInt8], bundleID: String, at timestamp: Int64) throws {
        let tuple = PushFeedbackTuple.with {
            $0.environment = "sandbox"
            $0.token = Data(token)
            $0.timestamp = UInt32(timestamp)
        }
        try publish(topic: "push.feedback", key: bundleID, value: try tuple.serializedBytes())
    }

    /// As ``wait(for:within:_:)``, for conditions that can fail.
    func wait(for what: String, until condition: () throws -> Bool) throws {
        var failure: (any Error)?
        try wait(for: what, within: patienceSeconds) {
            do {
                return try condition()
            } catch {
                failure = error
                return true
            }
        }
        if let failure { throw failure }
    }

    /// Waits for what the gateway counts.
    func wait(
        for what: String,
        at sandbox: SandboxControl,
        until condition: (SandboxControl.Stats) -> Bool
    ) async throws {
        try await waitUntil("\(what) at the gateway") { condition(try await sandbox.stats()) }
    }

    /// Waits for a condition that a server tells.
    func waitUntil(_ what: String, _ condition: () async throws -> Bool) async throws {
        let deadline = ContinuousClock.now + patience
        while !(try await condition()) {
            guard ContinuousClock.now < deadline else {
                throw ChildProcess.Failure(description: "waited \(patience) for \(what)")
            }
            pump(timeoutMilliseconds: 5)
        }
    }
}
