import Foundation
import KafkaClient
import LocalPipeline
import PipelineCore
import PushSchemas
import Workbench

/// A harvester as its operations endpoint shows it.
struct HarvesterWatch {
    let process: ChildProcess
    private let operations: OperationsClient
    private let kafka: PipelineClient

    init(_ pipeline: LocalPipeline, _ kafka: PipelineClient) throws {
        self.kafka = kafka
        process = try pipeline.startHarvester()
        operations = try OperationsClient(of: process, kafka)
    }

    func isReady() async throws -> Bool {
        try await operations.readiness().status == 200
    }

    func sample(_ name: String, _ topic: String, _ more: String = "") async throws -> Int {
        Int(try await operations.metrics()["\(name){app=\"\(topic)\",environment=\"sandbox\"\(more)}"] ?? 0)
    }

    /// Tuples of all topics that it has applied.
    func applied() async throws -> Int {
        Int(try await operations.metrics()["belfry_feedback_applied_total"] ?? 0)
    }

    /// Returns when a topic's list stands at a step.
    func wait(for step: HarvestStateMachine.Step, of topic: String) async throws {
        try await wait(for: "step \(step)") {
            try await sample("belfry_feedback_step", topic, ",step=\"\(step.rawValue)\"") == 1
        }
    }

    func wait(for what: String, until condition: () async throws -> Bool) async throws {
        let deadline = ContinuousClock.now + patience
        while !(try await condition()) {
            guard ContinuousClock.now < deadline, process.isRunning else {
                throw ChildProcess.Failure(description: "waited \(patience) for \(what); see \(process.logFile)")
            }
            // The harvester has work to do: it is not asked without a pause.
            kafka.pump(timeoutMilliseconds: 5)
        }
    }
}

/// Reads push.feedback from its beginning, and remembers which tokens are in it.
final class FeedbackLedger {
    /// The beginning of a token: the sandbox's tokens are ciphertext, in which nothing repeats.
    struct Token: Hashable {
        private var words: SIMD2<UInt64>

        init(_ bytes: Data) {
            var words = SIMD2<UInt64>.zero
            withUnsafeMutableBytes(of: &words) { $0.copyBytes(from: bytes.prefix($0.count)) }
            self.words = words
        }
    }

    /// By bundle ID: each token's newest timestamp.
    private(set) var tokens: [String: [Token: UInt32]] = [:]
    /// Records, repeats included.
    private(set) var records = 0
    private let reader: KafkaTopicReader

    init(brokers: String) throws {
        reader = try KafkaTopicReader(
            properties: [
                "bootstrap.servers": brokers, "fetch.wait.max.ms": "50", "receive.message.max.bytes": "1000000000",
            ],
            topic: "push.feedback",
            from: .beginning,
            timeoutMilliseconds: 30_000
        )
    }

    /// Takes what is ready.
    func poll() throws {
        while let batch = reader.read(max: 10_000) {
            for index in 0..<batch.count {
                let message = batch[index]
                guard message.error == nil else { continue }
                let tuple = try PushFeedbackTuple(serializedBytes: Array(message.value))
                let bundleID = String(decoding: message.key, as: UTF8.self)
                tokens[bundleID, default: [:]][Token(tuple.token), default: 0].raise(to: tuple.timestamp)
                records += 1
            }
        }
    }

    /// Different tokens of a topic.
    func count(_ topic: String) throws -> Int {
        try poll()
        return tokens[topic]?.count ?? 0
    }

    func close() {
        reader.close()
    }
}

extension UInt32 {
    fileprivate mutating func raise(to other: UInt32) {
        self = Swift.max(self, other)
    }
}
