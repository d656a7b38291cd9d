import BelfrySupport

/// The times of notifications on their way. Pure.
struct DeliveryCounts: Equatable, Sendable {
    /// The kinds of notifications that are told apart. There are few, whatever is answered.
    struct Way: Hashable, Comparable, Sendable {
        enum AppClass: String, CaseIterable, Sendable {
            /// Topics that keep up.
            case live
            /// Topics that are fed from their own cursors.
            case lagging
        }

        var transport: EnvironmentSettings.Transport
        var topicClass: AppClass

        static func < (left: Way, right: Way) -> Bool {
            // Live topics first.
            (right.topicClass.rawValue, left.transport.rawValue) < (left.topicClass.rawValue, right.transport.rawValue)
        }
    }

    /// From their publishing to the gateway.
    var handedOver = TimeCounts()
    /// From there to their outcomes.
    var settled = TimeCounts()

    mutating func add(_ other: DeliveryCounts) {
        handedOver.add(other.handedOver)
        settled.add(other.settled)
    }

    func grown(since former: DeliveryCounts) -> DeliveryCounts {
        DeliveryCounts(
            handedOver: handedOver.grown(since: former.handedOver),
            settled: settled.grown(since: former.settled)
        )
    }

    func fell(behind later: DeliveryCounts) -> Bool {
        handedOver.fell(behind: later.handedOver) || settled.fell(behind: later.settled)
    }
}
