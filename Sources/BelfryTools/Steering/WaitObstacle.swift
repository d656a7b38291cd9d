import BelfrySupport
import PushTopics

/// Finds the reason why outcomes of an app's requests stay out, in Kafka and in the configuration.
public struct WaitObstacle {
    private let configuration: BelfryConfiguration
    private let name: AppHashNames.Name

    /// - Parameter environment: as the requests name it; empty: they name none.
    public init(_ configuration: BelfryConfiguration, bundleID: String, environment: String) {
        self.configuration = configuration
        name = AppHashNames.Name(bundleID: bundleID, environment: environment)
    }

    /// A line for standard error: the app stands, and why. Nil: nothing is known to hold it up. Blocks.
    ///
    /// - Parameter unfinished: the lowest offset without its outcomes, of each partition of push.requests that has one.
    public func text(unfinished: [Int32: Int64]) -> String? {
        let progress = positions(of: unfinished.keys.sorted()).compactMap { position in
            unfinished[position.place.partition].map { position.progress(of: name, at: $0) }
        }
        return Self.text(
            bundleID: name.bundleID,
            groupID: GroupNames(configuration).worker,
            LagReasons(configuration).reason(of: name),
            progress
        )
    }

    /// The line for what was found.
    ///
    /// - Parameter progress: of the first request without its outcomes in each partition.
    static func text(
        bundleID: String,
        groupID: String,
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
                return "group \(groupID) has not come to the requests yet: no worker runs, or all are behind"
            }
            guard progress.contains(.behind) else { return nil }
            return "\(bundleID) lags, its requests are read and not done: \(reason.text)"
        }
    }

    /// Empty: the brokers do not tell.
    private func positions(of partitions: [Int32]) -> [PartitionPosition] {
        guard !partitions.isEmpty, let group = try? GroupPositions(configuration) else { return [] }
        defer { group.close() }
        return (try? group.current(partitions)) ?? []
    }
}
