/// A structured notification as it was decoded. One object stands for one notification, so that what was made of it can
/// be used again.
public final class DecodedNotification: Sendable {
    public let message: PushNotification

    init(_ message: PushNotification) { self.message = message }

    /// Throws `valueUndecodable`.
    convenience init(decoding bytes: UnsafeRawBufferPointer) throws(RecordError) {
        var message = PushNotification()
        try RequestDecoding.merge(bytes, into: &message)
        self.init(message)
    }
}

/// The structured notification that was decoded last, for the next record with the same bytes: what is meant for
/// millions comes in thousands of records.
///
/// Not thread-safe: each reader of records has its own.
public final class NotificationMemo {
    /// The form that ``last`` was decoded from; nil: it came as JSON.
    private var bytes: [UInt8]?
    private var last: DecodedNotification?

    public init() {}

    /// The last notification, if these are its bytes.
    func known(_ bytes: UnsafeRawBufferPointer) -> DecodedNotification? {
        guard let last, let known = self.bytes, known.count == bytes.count, bytes.elementsEqual(known) else {
            return nil
        }
        return last
    }

    /// Keeps a notification in place of the last one.
    func keep(_ notification: DecodedNotification, of bytes: UnsafeRawBufferPointer) {
        var kept = self.bytes ?? []
        self.bytes = nil
        kept.removeAll(keepingCapacity: true)
        kept.append(contentsOf: bytes)
        self.bytes = kept
        last = notification
    }

    /// The last notification if it is the same, else this one, which takes its place.
    func notification(_ message: PushNotification) -> DecodedNotification {
        if let last, last.message == message { return last }
        let decoded = DecodedNotification(message)
        bytes = nil
        last = decoded
        return decoded
    }
}
