import BelfrySupport
import RequestLanes

/// The names of an installation's consumer groups: those of its configuration behind `kafka.prefix`.
package struct GroupNames: Sendable, Equatable {
    /// Of the normal lane.
    package var worker: String
    package var registrar: String
    /// Applies the tombstones of gateways again.
    package var registrarTombstones: String
    package var harvester: String

    package init(_ configuration: BelfryConfiguration) {
        let prefix = configuration.kafka.prefix
        worker = prefix + configuration.worker.groupID
        registrar = prefix + configuration.registrar.groupID
        registrarTombstones = registrar + "-tombstones"
        harvester = prefix + "belfry-harvester"
    }

    /// The group of a command that follows outcomes; nothing is ever committed in it.
    ///
    /// - Parameter id: of no other member.
    package static func follower(_ settings: KafkaSettings, id: String) -> String {
        "\(settings.prefix)belfry-outcomes-\(id)"
    }

    /// The group of the workers in a lane: it rebalances without the others.
    package func worker(_ lane: RequestLane) -> String { worker + lane.suffix }

    /// In the order of the roles.
    package var all: [String] { RequestLane.allCases.map(worker) + [registrar, registrarTombstones, harvester] }
}
