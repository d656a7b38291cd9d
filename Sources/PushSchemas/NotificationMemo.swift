/// A structured notification as it was decoded. One object stands for one notification, so that what was made of it can
/// be used again.
public final class DecodedNotification: Sendable {
    public let message: PushNotification

    init(_ message: PushNotification) { self.message = message }
}

/// The structured notification that was decoded last, for the next record with the same bytes: what is meant for
/// millions comes in thousands of records.
///
/// Not thread-safe: each reader of records has its own.
public final class NotificationMemo {
    private var bytes: [UInt8] = []
    private var last: DecodedNotification?

    public init() {}

    /// Decodes a notification, if it is not the last one.
    ///
    /// - Throws: `valueUndecodable`; the last one stays.
    func notification(of bytes: UnsafeRawBufferPointer) throws(RecordError) -> DecodedNotification {
        if let last, bytes.elementsEqual(self.bytes) { return last }
        var message = PushNotification()
        try RequestDecoding.merge(bytes, into: &message)
        let decoded = DecodedNotification(message)
        self.bytes.removeAll(keepingCapacity: true)
        self.bytes.append(contentsOf: bytes)
        last = decoded
        return decoded
    }
}
