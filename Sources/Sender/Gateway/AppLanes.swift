import APNsProtocol
import PipelineCore
import ProviderCredentials

/// One topic in a shard: its way to the gateway, and the shard's findings there.
///
/// Bound to the shard's event loop.
final class AppLanes {
    /// The transport of the topic's environment.
    enum Way {
        case binary(BinaryLanes)
        case streams(StreamLane)
    }

    let topic: Topic
    let way: Way
    /// The last tick that looked at the topic found it at rest.
    var wasAtRest = false
    private var counted = WorkerAppCounters()
    var troubled = TroubledNotifications()

    init(topic: Topic, way: Way) {
        self.topic = topic
        self.way = way
    }

    var transport: any AppTransport {
        switch way {
        case .binary(let lanes): lanes
        case .streams(let lane): lane
        }
    }

    /// The credentials of new connections, for people.
    var credentialName: String {
        switch way {
        case .binary: AppCredential.certificate(bundleID: topic.bundleID).name
        case .streams(let lane): lane.credentialName
        }
    }

    var sending: AppFlow.Sending { topic.flow.sending }

    /// The topic works, and time brings nothing but the age of its connections.
    var isAtRest: Bool { topic.flow.isAtRest && transport.isAtRest }

    /// The lanes of a topic over the binary protocol, which the caller knows it to be.
    var binary: BinaryLanes {
        guard case .binary(let lanes) = way else { preconditionFailure("the topic has HTTP/2") }
        return lanes
    }

    var counters: WorkerAppCounters {
        get {
            var counters = counted
            if case .binary(let lanes) = way { counters.onProbation = lanes.onProbation }
            return counters
        }
        set { counted = newValue }
    }

    /// Adds earlier trouble to the notification appended last: it may have been sent before it was fed anew.
    func inheritTrouble(_ reference: NotificationReference, checksum: UInt32, _ feed: AppFeed) {
        guard let trouble = troubled.takeTrouble(of: reference, feed) else { return }
        transport.inheritTrouble(trouble, checksum: checksum)
    }
}
