import PipelineCore
import RequestRules

/// The part of a notification that is the same for all tokens with its payload.
struct NotificationContent {
    /// Valid during the writing.
    var payload: UnsafeRawBufferPointer
    var terms: DeliveryTerms
    /// UNIX seconds; 0: do not store. Nil: the default holds, see ``Topic/defaultExpiration(unixMilliseconds:)``.
    var expiration: UInt32?
    /// Of the notifications of the record; nil over the binary interface.
    var ids: NotificationIDs?
}
