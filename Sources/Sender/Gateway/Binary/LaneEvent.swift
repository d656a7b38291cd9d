import APNsProtocol
import PipelineCore

/// The stage above lanes of the binary interface.
protocol LaneStage: TransportStage {
    /// Takes an event in; entries that it names are readable in the lane's log during the call.
    func handle(_ event: LaneEvent, of lane: GatewayLane)
}

/// An event of one lane's notifications.
enum LaneEvent {
    /// The gateway answered with an error response.
    case answered(ErrorResponse)
    /// Something settled.
    case settled(LaneVerdict)
    /// The content of a notification is refused to every token.
    case condemned(NotificationReference, APNsStatus)
    /// A notification of condemned content is not sent any more.
    case withdrawn(NotificationReference, APNsStatus)
}
