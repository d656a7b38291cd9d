import BelfrySupport
import NIOCore
import PipelineCore

@testable import SimulatedServers
@testable import TokenState

extension TokenChange {
    /// The death of a token of 32 equal bytes.
    static func death(
        _ token: UInt8,
        bundleID: String = TokenStore.bundleID,
        environment: String = TokenStore.environment
    ) -> TokenChange {
        TokenChange(
            environment: environment,
            bundleID: bundleID,
            token: Array(repeating: token, count: 32),
            kind: .tombstone(at: 1, .feedback)
        )
    }
}

extension TokenFacts {
    static func dead(at tombstonedAt: UInt32, registeredAt: UInt32 = 0) -> TokenFacts {
        TokenFacts(registeredAt: registeredAt, tombstonedAt: tombstonedAt, reason: .feedback, wasRevived: false)
    }

    static func revived(at registeredAt: UInt32) -> TokenFacts {
        TokenFacts(registeredAt: registeredAt, tombstonedAt: 0, reason: .none, wasRevived: true)
    }
}

extension DeadTokenSets {
    /// A token of 32 equal bytes is to be asked of Redis.
    func holds(
        _ token: UInt8,
        bundleID: String = TokenStore.bundleID,
        environment: String = TokenStore.environment
    ) -> Bool {
        let hash = Array(repeating: token, count: 32).withUnsafeBytes { DeadTokenSet.hash($0) }
        return deadTokens(environment: environment, bundleID: bundleID).contains(hash)
    }
}

extension SimulatedTopic {
    /// Appends what the publisher writes about a change.
    func append(_ change: TokenChange, _ facts: TokenFacts, to partition: Int = 0) {
        let producer = CollectingProducer()
        let publisher = TombstonePublisher(producer: producer, topic: name, logger: LogLines().logger) {
            MonotonicTime(.now())
        }
        publisher.publish(change, facts) {}
        for record in producer.records { append(record.content, key: record.key ?? [], to: partition) }
    }
}
