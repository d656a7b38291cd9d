/// The items read so far of one command 2 frame; absent ones have their defaults [ours].
struct Command2Items {
    private(set) var identifier: UInt32 = 0
    private(set) var expiration = UInt32.max
    private(set) var priority = NotificationPriority.immediate
    private(set) var token = UnsafeRawBufferPointer(start: nil, count: 0)
    private(set) var payload = UnsafeRawBufferPointer(start: nil, count: 0)

    /// One bit for each item id that was read.
    private var met: UInt8 = 0

    /// Takes the next item of the frame.
    ///
    /// - Returns: the status to refuse the frame with, or `nil`.
    @inline(__always)
    mutating func takeItem(_ id: UInt8, _ data: UnsafeRawBufferPointer, limits: GatewayLimits) -> APNsStatus? {
        guard let item = Command2Item(rawValue: id) else {
            // Skipping unknown items would hide a provider's fault from its tests.
            return limits.protocolErrorStatus
        }
        let bit = UInt8(1) << id
        guard met & bit == 0 else { return limits.protocolErrorStatus }
        met |= bit

        switch item {
        case .token:
            if let fault = limits.fault(tokenBytes: data.count) { return fault }
            token = data
        case .payload:
            if let fault = limits.fault(payloadBytes: data.count) { return fault }
            payload = data
        case .identifier:
            guard let number = Self.number(data) else { return limits.protocolErrorStatus }
            identifier = number
        case .expiration:
            guard let number = Self.number(data) else { return limits.protocolErrorStatus }
            expiration = number
        case .priority:
            guard data.count == 1, let value = NotificationPriority(rawValue: data[0]) else {
                return limits.protocolErrorStatus
            }
            priority = value
        }
        return nil
    }

    @inline(__always)
    private static func number(_ data: UnsafeRawBufferPointer) -> UInt32? {
        guard data.count == 4, let base = data.baseAddress else { return nil }
        return base.bigEndian(at: 0)
    }
}

extension GatewayLimits {
    /// The status for a token of this length; `nil` when the length is allowed.
    @inline(__always)
    func fault(tokenBytes count: Int) -> APNsStatus? {
        if tokenBytes.contains(count) { return nil }
        return count == 0 ? .missingDeviceToken : .invalidTokenSize
    }

    /// The status for a payload of this length, or `nil` when it is within the limit.
    @inline(__always)
    func fault(payloadBytes count: Int) -> APNsStatus? {
        if count > payloadLimitBytes { return .invalidPayloadSize }
        return count == 0 ? .missingPayload : nil
    }
}
