import APNsProtocol
import PipelineCore
import ProviderCredentials
import Synchronization

/// The health of one topic, shared by the shards of a process.
///
/// Written after failures and recoveries, not per notification; the lock is held for nanoseconds. From any thread.
final class SharedAppHealth: Sendable {
    /// Tells the topic from all others of the process.
    let number: UInt64
    private let known: Mutex<Known>

    private struct Known {
        var health: AppHealth
        /// The credential that each push type was last seen with, by any shard.
        var credentials: [PushType: (credential: AppCredential, edition: UInt64)] = [:]
    }

    init(_ health: AppHealth, number: UInt64) {
        self.number = number
        known = Mutex(Known(health: health))
    }

    /// A push type has this credential now, or a new edition of it.
    ///
    /// Shards see it at different times. It counts once: else one that sees it when it was refused would have it tried
    /// again at once.
    func noteCredential(_ credential: AppCredential, edition: UInt64, for pushType: PushType, now: MonotonicTime) {
        known.withLock { known in
            let former = known.credentials[pushType]
            if let former, former.credential == credential, edition <= former.edition { return }
            known.credentials[pushType] = (credential, edition)
            if former != nil { known.health.credentialChanged(now: now) }
        }
    }

    /// Changes the health under the lock.
    func change<Result: Sendable>(_ body: (inout AppHealth) -> Result) -> Result {
        known.withLock { body(&$0.health) }
    }

    var state: AppHealth.State { known.withLock { $0.health.state } }
    /// Tickets of refusals: those believed, and those that never will be.
    var trust: (through: UInt64, distrusted: UInt64) {
        known.withLock { ($0.health.trustedThrough, $0.health.distrustedThrough) }
    }
}

/// The health of every topic of a process. From any thread.
final class AppHealthRegistry: Sendable {
    private struct Name: Hashable {
        var environment: String
        var bundleID: String
    }

    private struct Known {
        /// Of topics made from now on.
        var limits: AppHealth.Limits
        var topics: [Name: SharedAppHealth] = [:]
    }

    private let known: Mutex<Known>

    init(limits: AppHealth.Limits) {
        known = Mutex(Known(limits: limits))
    }

    /// Judges all topics by other limits from now on.
    func use(_ limits: AppHealth.Limits) {
        known.withLock { known in
            known.limits = limits
            for topic in known.topics.values { topic.change { $0.use(limits) } }
        }
    }

    /// The health of a topic, made on first use.
    func health(environment: String, bundleID: String) -> SharedAppHealth {
        let name = Name(environment: environment, bundleID: bundleID)
        return known.withLock { known in
            if let topic = known.topics[name] { return topic }
            let made = SharedAppHealth(AppHealth(limits: known.limits), number: UInt64(known.topics.count))
            known.topics[name] = made
            return made
        }
    }
}
