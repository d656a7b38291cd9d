import APNsProtocol
import PipelineCore
import RequestRules

/// The part of a request that only the provider API takes, shared by all notifications with one payload.
///
/// A class, so that records and waiting notifications carry one reference to it.
final class ProviderFields: Sendable {
    /// As named, or inferred from the payload.
    let pushType: PushType
    let priority: ProviderPriority
    /// The value of `apns-collapse-id`, 1 to 64 bytes; empty: none.
    let collapseID: [UInt8]
    /// The request is for a channel, whose id stands in place of a token.
    let isBroadcast: Bool
    /// The values of `apns-id`, of a broadcast `apns-request-id`: each follows from token and index, so that a
    /// notification sent again keeps its own.
    let ids: NotificationIDs

    init(_ terms: ProviderTerms, ids: NotificationIDs) {
        pushType = terms.pushType
        priority = terms.priority
        collapseID = terms.collapseID
        isBroadcast = terms.isBroadcast
        self.ids = ids
    }
}
