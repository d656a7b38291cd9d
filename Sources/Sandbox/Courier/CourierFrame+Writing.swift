extension CourierRequest {
    /// The whole frame. Topics and tokens have 1 to 255 bytes; others trap.
    var encoded: [UInt8] {
        switch self {
        case .register(let topic): CourierFrameWriter(.register).adding(name: topic.utf8).frame
        case .present(let token): CourierFrameWriter(.present).adding(name: token).frame
        case .unregister(let topic): CourierFrameWriter(.unregister).adding(name: topic.utf8).frame
        case .restore(let topic): CourierFrameWriter(.restore).adding(name: topic.utf8).frame
        case .wipe(let topic): CourierFrameWriter(.wipe).adding(name: topic.utf8).frame
        }
    }
}

extension CourierMessage {
    /// The whole frame; `nil` when the payload of a notification is too long for one. Topics and tokens have 1 to 255
    /// bytes; others trap.
    var encoded: [UInt8]? {
        switch self {
        case .token(let topic, let token):
            return CourierFrameWriter(.token).adding(countedName: topic.utf8).adding(name: token).frame
        case .presented(let topic):
            return CourierFrameWriter(.presented).adding(name: topic.utf8).frame
        case .notification(let notification):
            let writer = CourierFrameWriter(.notification)
                .adding(countedName: notification.topic.utf8)
                .adding(countedName: notification.token)
                .adding(number: notification.expiration)
                .adding(bytes: CollectionOfOne(notification.priority))
                .adding(counted: notification.pushType.utf8)
                .adding(counted: notification.collapseID)
                .adding(bytes: notification.payload)
            return writer.isWithinLimit ? writer.frame : nil
        case .refused(let refusal):
            return CourierFrameWriter(.refused)
                .adding(bytes: CollectionOfOne(refusal.code.rawValue))
                .adding(bytes: refusal.text.utf8)
                .frame
        case .unregistered(let topic):
            return CourierFrameWriter(.unregistered).adding(name: topic.utf8).frame
        }
    }
}

/// Puts a frame together.
private struct CourierFrameWriter {
    private var bytes: [UInt8]

    init(_ kind: CourierFrame.Kind) {
        bytes = [kind.rawValue, 0, 0]
    }

    var isWithinLimit: Bool { bytes.count <= CourierFrame.limitBytes }

    /// With the length in its place. Traps when it is not ``isWithinLimit``.
    var frame: [UInt8] {
        precondition(isWithinLimit, "a courier frame of \(bytes.count) bytes")
        var frame = bytes
        let length = bytes.count - CourierFrame.headerBytes
        frame[1] = UInt8(length >> 8)
        frame[2] = UInt8(length & 0xff)
        return frame
    }

    func adding(bytes more: some Collection<UInt8>) -> CourierFrameWriter {
        var writer = self
        writer.bytes.append(contentsOf: more)
        return writer
    }

    /// A topic or token at the end of the frame.
    func adding(name: some Collection<UInt8>) -> CourierFrameWriter {
        precondition((1...Int(UInt8.max)).contains(name.count), "a topic or token of \(name.count) bytes")
        return adding(bytes: name)
    }

    /// A topic or token that others follow.
    func adding(countedName name: some Collection<UInt8>) -> CourierFrameWriter {
        adding(bytes: CollectionOfOne(UInt8(clamping: name.count))).adding(name: name)
    }

    /// A field that may be empty and that others follow.
    func adding(counted field: some Collection<UInt8>) -> CourierFrameWriter {
        precondition(field.count <= Int(UInt8.max), "a field of \(field.count) bytes")
        return adding(bytes: CollectionOfOne(UInt8(field.count))).adding(bytes: field)
    }

    func adding(number: UInt32) -> CourierFrameWriter {
        adding(bytes: [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) })
    }
}
