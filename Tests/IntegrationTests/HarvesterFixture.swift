import Foundation
import FoundationNetworking
import KafkaClient
import PipelineCore
import PushSchemas

@testable import Demo

/// What a harvester shows at its operations endpoint.
struct HarvesterWatch {
    let process: ChildProcess
    let address: String

    init(_ pipeline: LocalPipeline, _ kafka: DemoKafka) throws {
        process = try pipeline.startHarvester()
        var found: String?
        try kafka.wait(for: "the harvester's endpoint") { [process] in
            found = WorkerLog.operationsAddress(of: process)
            return found != nil || !process.isRunning
        }
        guard let found else { throw ChildProcess.Failure(description: "no harvester: \(process.log)") }
        address = found
    }

    func isReady() async throws -> Bool {
        guard let url = URL(string: "http://\(address)/readyz") else { return false }
        let (_, response) = try await URLSession.shared.data(from: url)
        return (response as? HTTPURLResponse)?.statusCode == 200
    }

    /// The samples by name and labels.
    func metrics() async throws -> [String: Double] {
        guard let url = URL(string: "http://\(address)/metrics") else { return [:] }
        let (body, _) = try await URLSession.shared.data(from: url)
        var samples: [String: Double] = [:]
        for line in String(decoding: body, as: UTF8.self).split(separator: "\n") where !line.hasPrefix("#") {
            guard let space = line.lastIndex(of: " ") else { continue }
            samples[String(line[..<space])] = Double(line[line.index(after: space)...])
        }
        return samples
    }

    func sample(_ name: String, _ topic: String, _ more: String = "") async throws -> Int {
        Int(try await metrics()["\(name){topic=\"\(topic)\",environment=\"sandbox\"\(more)}"] ?? 0)
    }

    /// Tuples of all topics that it has applied.
    func applied() async throws -> Int {
        Int(try await metrics().reduce(0) { $1.key.hasPrefix("belfry_feedback_applied_total") ? $0 + $1.value : $0 })
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
    private let consumer: KafkaConsumer

    init(brokers: String) throws {
        consumer = try KafkaConsumer(
            properties: [
                "bootstrap.servers": brokers, "auto.offset.reset": "earliest", "fetch.wait.max.ms": "50",
                "receive.message.max.bytes": "1000000000",
            ],
            group: "belfry-test-\(UUID().uuidString)",
            topics: ["push.feedback"]
        )
    }

    /// Takes what is ready.
    func poll() throws {
        while let batch = consumer.consumeBatch(max: 10_000) {
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
        consumer.close()
    }
}

extension UInt32 {
    fileprivate mutating func raise(to other: UInt32) {
        self = Swift.max(self, other)
    }
}
