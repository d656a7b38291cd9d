import BelfrySupport
import PushTopics
import RequestLanes

/// Finds the reason why outcomes of an app's requests in a lane stay out, in Kafka and in the configuration.
public struct WaitObstacle {
    private let configuration: BelfryConfiguration
    private let name: AppHashNames.Name
    private let lane: RequestLane

    /// - Parameter environment: as the requests name it; empty: they name none.
    public init(
        _ configuration: BelfryConfiguration,
        bundleID: String,
        environment: String,
        lane: RequestLane = .normal
    ) {
        self.configuration = configuration
        self.lane = lane
        name = AppHashNames.Name(bundleID: bundleID, environment: environment)
    }

    /// A line for standard error: the app stands, and why. Nil: nothing is known to hold it up. Blocks.
    ///
    /// - Parameter unfinished: the lowest offset without its outcomes, of each partition of the lane that has one.
    public func text(unfinished: [Int32: Int64]) -> String? {
        let progress = positions(of: unfinished.keys.sorted()).compactMap { position in
            unfinished[position.place.partition].map { position.progress(of: name, at: $0) }
        }
        return Self.text(
            bundleID: name.bundleID,
            groupID: GroupNames(configuration).worker(lane),
            lane: lane,
            LagReasons(configuration).reason(of: name, in: lane),
            progress
        )
    }

    /// The line for what was found.
    ///
    /// - Parameter progress: of the first request without its outcomes in each partition.
    static func text(
        bundleID: String,
        groupID: String,
        lane: RequestLane = .normal,
        _ reason: LagReason,
        _ progress: [PartitionPosition.Progress]
    ) -> String? {
        switch reason {
        case .lever(let line) where line.lever == .pace:
            return "\(bundleID) is held back: \(reason.text)"
        case .lever, .credentialMissing:
            return "\(bundleID) stands: \(reason.text)"
        case .unknown:
            if progress.contains(.standing) {
                return "a partition with its requests stands, and all apps in it: see belfry offsets show"
            }
            if progress.contains(.unread) {
                // Workers serve the lanes whose Kafka topics were there when they started.
                let absence = lane == .normal ? "no worker runs" : "no worker serves lane \(lane.rawValue)"
                return "group \(groupID) has not come to the requests yet: \(absence), or all are behind"
            }
            guard progress.contains(.behind) else { return nil }
            return "\(bundleID) lags, its requests are read and not done: \(reason.text)"
        }
    }

    /// Empty: the brokers do not tell.
    private func positions(of partitions: [Int32]) -> [PartitionPosition] {
        guard !partitions.isEmpty, let group = try? GroupPositions(configuration, lane: lane) else { return [] }
        defer { group.close() }
        return (try? group.current(partitions)) ?? []
    }
}
