import APNsProtocol
import PipelineCore

/// The stage above topics over HTTP/2.
protocol StreamStage: TransportStage {
    /// Takes an event in. Notifications that were accepted, or have their outcome otherwise, can be read in the lane's
    /// queue during the call.
    func handle(_ event: StreamEvent, of lane: StreamLane)
}

/// An event of one topic's requests.
enum StreamEvent {
    /// The gateway answered a request with an error.
    case answered(ProviderAnswer, to: NotificationReference)
    /// Notifications were accepted, of which the first was sent at a time.
    case confirmed([Int], sentAt: MonotonicTime)
    /// Something else happened to a notification. Without an answer there was none, or it says nothing of the topic.
    /// The standing is that of a refused token.
    case settled(StreamVerdict, ProviderAnswer?, AppHealth.RefusalStanding)
}
