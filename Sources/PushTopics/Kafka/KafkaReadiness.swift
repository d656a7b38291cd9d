import BelfrySupport
import KafkaClient
import Logging
import NIOPosix
import PipelineCore
import ServiceLifecycle

/// Waits at start until Kafka answers and has the topics a role needs.
package struct KafkaReadiness {
    private let settings: KafkaSettings
    private let logger: Logger

    private static let backoff = Backoff(base: .milliseconds(500), cap: .seconds(15), floor: .milliseconds(250))

    package init(_ settings: KafkaSettings, logger: Logger) {
        self.settings = settings
        self.logger = logger
    }

    /// - Parameter others: those that need not be there.
    /// - Returns: the number of partitions of each that is there.
    /// - Throws: `KafkaError` for a wrong property, `CancellationError` when the role is told to stop first. All other
    ///   errors are logged, and the wait goes on.
    @discardableResult
    package func waitForTopics(_ topics: [String], others: [String] = []) async throws -> [String: Int] {
        var failures = 0
        while true {
            do {
                // On a thread that may block: those of tasks are few, and the operations endpoint needs them.
                return try await NIOThreadPool.singleton.runIfActive { [settings, logger, failures] in
                    let timeout = Self.timeoutMilliseconds(failures: failures)
                    let properties = settings.adminProperties(clientID: "belfry")
                    let admin = try KafkaAdmin(properties: properties, named: "check at start", logger: logger)
                    defer { admin.close() }
                    let all = try admin.partitionCounts(timeoutMilliseconds: timeout)
                    var counts = all.filter { others.contains($0.key) }
                    for topic in topics {
                        // One that is not listed is asked for by name, which tells that it is missing.
                        counts[topic] = try all[topic] ?? admin.partitionCount(of: topic, timeoutMilliseconds: timeout)
                    }
                    return counts
                }
            } catch let error as KafkaError {
                if error.isConfiguration { throw error }
                failures += 1
                logger.error(
                    "Kafka is not ready; trying again",
                    metadata: [
                        "brokers": "\(settings.brokers)", "topics": "\(topics.joined(separator: ","))",
                        "error": "\(error)",
                    ]
                )
                let delay = Self.backoff.delay(failures: failures, random: .random(in: .min ... .max))
                try await cancelWhenGracefulShutdown { try await Task.sleep(for: delay) }
            }
        }
    }

    /// Patience with brokers that do not answer. Short at first, so that an operator who watches the role start is told
    /// within three seconds what it waits for; then long enough for brokers that are slow.
    package static func timeoutMilliseconds(failures: Int) -> Int32 {
        failures == 0 ? 2_000 : 5_000
    }
}
