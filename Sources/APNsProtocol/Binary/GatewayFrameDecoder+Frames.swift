/// The result of parsing the beginning of a frame.
enum FrameVerdict {
    /// A whole notification of this length was handed out and not refused.
    case whole(frameBytes: Int)
    /// Undecided before this many bytes are there, counted from the frame's beginning; always more than there are now.
    case incomplete(neededBytes: Int)
    /// Malformed, or refused by the callback.
    case refused(FrameRefusal)
}

/// The reason why a frame ends the decoding.
struct FrameRefusal {
    let status: APNsStatus
    /// The identifier read so far in the frame, else 0.
    let identifier: UInt32
    /// The frame's first byte.
    let command: UInt8
}

extension GatewayFrameDecoder {
    /// Judges the frame at the beginning of `bytes`, which is not empty. Bytes after that frame are not looked at.
    @inline(__always)
    static func parseFrame(
        _ bytes: UnsafeRawBufferPointer,
        limits: GatewayLimits,
        _ body: (NotificationView) -> APNsStatus?
    ) -> FrameVerdict {
        guard let base = bytes.baseAddress else { return .incomplete(neededBytes: 1) }
        switch base.byte(at: 0) {
        case 2:
            return parseCommand2(base, available: bytes.count, limits: limits, body)
        case let command where command < 2:
            return parseCommand0Or1(command, base, available: bytes.count, limits: limits, body)
        case let command:
            return .refused(FrameRefusal(status: limits.protocolErrorStatus, identifier: 0, command: command))
        }
    }

    private static func parseCommand2(
        _ base: UnsafeRawPointer,
        available: Int,
        limits: GatewayLimits,
        _ body: (NotificationView) -> APNsStatus?
    ) -> FrameVerdict {
        guard available >= NotificationFrame.frameHeaderBytes else {
            return .incomplete(neededBytes: NotificationFrame.frameHeaderBytes)
        }
        let frameBytes = NotificationFrame.frameHeaderBytes + Int(base.bigEndian(at: 1, as: UInt32.self))
        guard frameBytes <= limits.frameLimitBytes else {
            return .refused(FrameRefusal(status: limits.protocolErrorStatus, identifier: 0, command: 2))
        }
        guard available >= frameBytes else { return .incomplete(neededBytes: frameBytes) }

        var items = Command2Items()
        let end = base + frameBytes
        var item = base + NotificationFrame.frameHeaderBytes
        while item < end {
            guard end - item >= NotificationFrame.itemHeaderBytes else {
                return refuse(limits.protocolErrorStatus, items)
            }
            let data = UnsafeRawBufferPointer(
                start: item + NotificationFrame.itemHeaderBytes,
                count: Int(item.bigEndian(at: 1, as: UInt16.self))
            )
            guard end - item - NotificationFrame.itemHeaderBytes >= data.count else {
                return refuse(limits.protocolErrorStatus, items)
            }
            if let status = items.takeItem(item.byte(at: 0), data, limits: limits) {
                return refuse(status, items)
            }
            item += NotificationFrame.itemHeaderBytes + data.count
        }
        // An item of length zero was refused when it was met, so an empty buffer means that there was none.
        if items.token.isEmpty { return refuse(.missingDeviceToken, items) }
        if items.payload.isEmpty { return refuse(.missingPayload, items) }
        let view = NotificationView(
            frame: base,
            command: 2,
            identifier: items.identifier,
            expiration: items.expiration,
            priority: items.priority,
            token: items.token,
            payload: items.payload
        )
        if let status = body(view) { return refuse(status, items) }
        return .whole(frameBytes: frameBytes)
    }

    private static func refuse(_ status: APNsStatus, _ items: Command2Items) -> FrameVerdict {
        .refused(FrameRefusal(status: status, identifier: items.identifier, command: 2))
    }

    /// Command 0 [10]: `00` · token length (2) · token · payload length (2) · payload.
    ///
    /// Command 1 [10]: `01` · identifier (4) · expiry (4) · and the same.
    private static func parseCommand0Or1(
        _ command: UInt8,
        _ base: UnsafeRawPointer,
        available: Int,
        limits: GatewayLimits,
        _ body: (NotificationView) -> APNsStatus?
    ) -> FrameVerdict {
        let tokenStart = command == 1 ? 11 : 3
        guard available >= tokenStart else { return .incomplete(neededBytes: tokenStart) }
        let identifier: UInt32 = command == 1 ? base.bigEndian(at: 1) : 0
        let tokenBytes = Int(base.bigEndian(at: tokenStart - 2, as: UInt16.self))
        let payloadStart = tokenStart + tokenBytes + 2
        // These frames do not announce their size: one over the limit is recognised by a length that is itself a fault.
        guard payloadStart <= limits.frameLimitBytes else {
            return .refused(FrameRefusal(status: .invalidTokenSize, identifier: identifier, command: command))
        }
        guard available >= payloadStart else { return .incomplete(neededBytes: payloadStart) }
        let payloadBytes = Int(base.bigEndian(at: payloadStart - 2, as: UInt16.self))
        let frameBytes = payloadStart + payloadBytes

        var fault = limits.fault(tokenBytes: tokenBytes) ?? limits.fault(payloadBytes: payloadBytes)
        if frameBytes <= limits.frameLimitBytes {
            guard available >= frameBytes else { return .incomplete(neededBytes: frameBytes) }
        }
        if fault == nil {
            let view = NotificationView(
                frame: base,
                command: command,
                identifier: identifier,
                expiration: command == 1 ? base.bigEndian(at: 5) : UInt32.max,
                priority: .immediate,
                token: UnsafeRawBufferPointer(start: base + tokenStart, count: tokenBytes),
                payload: UnsafeRawBufferPointer(start: base + payloadStart, count: payloadBytes)
            )
            fault = body(view)
        }
        guard let fault else { return .whole(frameBytes: frameBytes) }
        return .refused(FrameRefusal(status: fault, identifier: identifier, command: command))
    }
}
