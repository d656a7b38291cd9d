extension PushType {
    /// Infers the push type of a payload whose request names none.
    ///
    /// The first rule that fits, by the keys of `aps` [ours]; their values do not count:
    ///
    /// | keys | push type |
    /// |---|---|
    /// | `content-state` or `event`, which only Live Activities have | liveactivity |
    /// | `alert`, `badge` or `sound` | alert |
    /// | `content-available` | background |
    /// | none of these | alert |
    ///
    /// All other push types have to be named: their payloads look like those of an app's own.
    ///
    /// - Parameter payload: best checked by ``PayloadScanner``; bytes that are no payload are an alert.
    public init(inferredFrom payload: UnsafeRawBufferPointer) {
        let keys = ApsKeys(of: payload)
        if keys.contains(.liveActivity) {
            self = .liveactivity
        } else if keys.contains(.contentAvailable), !keys.contains(.disturbing) {
            self = .background
        } else {
            self = .alert
        }
    }

    /// The same for an array.
    public init(inferredFrom payload: [UInt8]) {
        self = payload.withUnsafeBytes { PushType(inferredFrom: $0) }
    }
}

extension NotificationPriority {
    /// The priority with which a payload may go over the binary interface: 10 is an error where `aps` has
    /// `content-available`, and nothing that alerts, sounds or badges [13].
    ///
    /// - Parameter payload: best checked by ``PayloadScanner``; bytes that are no payload keep the priority.
    public func allowed(for payload: UnsafeRawBufferPointer) -> NotificationPriority {
        guard self == .immediate else { return self }
        let keys = ApsKeys(of: payload)
        return keys.contains(.contentAvailable) && !keys.contains(.disturbing) ? .powerSaving : self
    }
}

/// The keys of `aps` that tell push types apart.
private struct ApsKeys: OptionSet {
    let rawValue: UInt8

    static let disturbing = ApsKeys(rawValue: 1)
    static let contentAvailable = ApsKeys(rawValue: 2)
    static let liveActivity = ApsKeys(rawValue: 4)

    init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// - Returns: none for bytes that are no payload.
    init(of payload: UnsafeRawBufferPointer) {
        var keys: ApsKeys = []
        var reader = JSONReader(payload)
        do throws(JSONFault) {
            try reader.readObject { reader, key throws(JSONFault) in
                guard key == "aps" else { return try reader.skipValue() }
                try reader.readObject { reader, key throws(JSONFault) in
                    keys.formUnion(ApsKeys(named: key))
                    try reader.skipValue()
                }
            }
            self = keys
        } catch {
            self = []
        }
    }

    private init(named key: String) {
        switch key {
        case "alert", "badge", "sound": self = .disturbing
        case "content-available": self = .contentAvailable
        case "content-state", "event": self = .liveActivity
        default: self = []
        }
    }
}
