import BelfrySupport
import PipelineCore
import PushSchemas

@testable import KafkaClient
@testable import Sender

/// The ways in which one life of a worker may differ from the next: its configuration and its version.
struct OwnerTraits: Sendable {
    /// Environments that it knows.
    var environments: Set<String> = [World.environment, World.streamEnvironment]
    /// It decodes records in JSON.
    var readsJSON = true
    /// Of the version before commits had marks: what it refuses is one class.
    var isFormerVersion = false
    /// It has room for few bundles. The worker has no room for the rest, so no world ends with it.
    var limits: AppLimits?
    /// It knows which bundles are spread over shards, and looks whether tokens lie where their keys say.
    var knowsSpread = true
    /// Most lanes of a topic, beside which those of probation are; nil: as many as the world has.
    var lanes: Int?
    /// It knows the quotas of the urgent lane.
    var hasQuotas = true

    init() {}

    init(_ dice: inout Dice) {
        if dice.chance(50) { environments.remove(dice.chance(70) ? World.streamEnvironment : World.environment) }
        readsJSON = dice.chance(60)
        isFormerVersion = dice.chance(25)
        if dice.chance(30) {
            limits = AppLimits(
                withoutCertificate: dice.pick(0...2),
                uncertified: dice.pick(0...3),
                refused: dice.pick(0...3),
                topics: dice.pick(1...5)
            )
        }
        knowsSpread = dice.chance(60)
        if dice.chance(40) { lanes = dice.pick(1...3) }
    }

    /// The world's configuration as it has it.
    func changed(_ configuration: BelfryConfiguration) -> BelfryConfiguration {
        var changed = configuration
        changed.environments.removeAll { !environments.contains($0.name) }
        if !knowsSpread { changed.apps = changed.apps.mapValues { $0.withoutSpread } }
        if !hasQuotas { changed.apps = changed.apps.mapValues { $0.withoutQuota } }
        if let lanes { changed.worker.connectionsPerTopic = min(lanes, changed.worker.connectionsPerTopic) }
        return changed
    }

    var edition: UInt8 { readsJSON ? 1 : 2 }

    /// A record as its decoder meets it.
    func seen(_ record: KafkaRecord) -> KafkaRecord {
        guard !readsJSON, record.headers.contains(where: { $0.name == RecordContentType.headerName }) else {
            return record
        }
        return KafkaRecord(
            topic: record.topic,
            partition: record.partition,
            offset: record.offset,
            key: record.key,
            value: record.value,
            timestampMilliseconds: record.timestampMilliseconds,
            headers: [(name: RecordContentType.headerName, value: Array("application/unknown".utf8))]
        )
    }

    /// A position as it commits it.
    func written(_ position: KafkaPartitionOffset) -> KafkaPartitionOffset {
        guard isFormerVersion else { return position }
        let metadata = CommittedPosition.former(position.metadata, at: position.offset, without: refused)
        return KafkaPartitionOffset(position.place, offset: position.offset, metadata: metadata)
    }

    /// Topics of environments that it does not know.
    private var refused: Set<AppHash> {
        let missing = OwnerTraits().environments.subtracting(environments)
        return Set(
            missing.flatMap { environment in
                (World.bundles + [World.uncertified]).map { AppHash(bundleID: $0, environment: environment) }
            }
        )
    }
}

extension AppOverrides {
    fileprivate var withoutSpread: Self {
        var changed = self
        changed.spread = nil
        return changed
    }

    fileprivate var withoutQuota: Self {
        var changed = self
        changed.urgentQuota = nil
        return changed
    }
}
