import APNsProtocol

/// The part of a notification that is the same for all tokens of its record.
struct NotificationContent {
    /// Valid during the writing.
    var payload: UnsafeRawBufferPointer
    /// UNIX seconds; 0: do not store.
    var expiration: UInt32
    var priority: NotificationPriority
    /// Nil over the binary protocol.
    var provider: ProviderFields?
}
