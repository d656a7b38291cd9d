import APNsProtocol
import PipelineCore

/// The stage above the transports. Called on the shard's thread.
protocol TransportStage: AnyObject {
    /// Writing is allowed now. Asked at each write, because a loop that stood still may write before it ticks.
    var mayWrite: Bool { get }
    /// The loop stood still and has not ticked since: nothing that was composed before may leave.
    var hasStoodStill: Bool { get }
    /// Asks for one new connection out of the process's budget. Nil if granted, else the time to ask again.
    func mayConnect(_ topic: Topic, _ purpose: ConnectionBudget.Purpose, now: MonotonicTime) -> MonotonicTime?
    /// Takes an event in, after the transport's own state has changed.
    func handle(_ event: TransportEvent, of topic: Topic)
}

/// An event of a topic that means the same over both transports.
enum TransportEvent: Equatable {
    /// A connection was opened. One that topics share is told of for one of them, here and below.
    case connected
    /// A connection ended, or could not be made; told once for each.
    case disconnected(DisconnectReason)
    /// The topic is concerned by the end of a connection, or of the attempt to make one.
    case failed(DisconnectReason)
    /// A connection takes no more, because another replaces it.
    case rotated(ConnectionRotation.Reason)
    /// The service refuses the topic, or its whole team.
    case refused(ProviderVerdict.Extent)
    /// The service answers nothing but troubles of its own.
    case serviceTrouble
    /// Notifications leave over a connection, the named one before the others.
    case handedOver(Int, from: NotificationReference)
}
