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

    /// - Returns: none for bytes that are no payload, and none for those of an alert where a search shows as much: it
    ///   costs less than reading, and most payloads are alerts.
    init(of payload: UnsafeRawBufferPointer) {
        guard Self.mayTell(payload) else {
            self = []
            return
        }
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

    /// The text of a key that makes a payload something else than an alert is in it, or is written in escapes.
    private static func mayTell(_ payload: UnsafeRawBufferPointer) -> Bool {
        for (place, byte) in payload.enumerated() {
            switch byte {
            case UInt8(ascii: "-"):
                if payload.has("content", at: place - 7) { return true }
            case UInt8(ascii: "v"):
                if payload.has("\"event\"", at: place - 2) { return true }
            case UInt8(ascii: "\\"):
                // Letters of keys are U+002D to U+007A; those with accents are above, and are common in texts.
                guard payload.has(#"\u00"#, at: place), place + 4 < payload.count else { continue }
                if (UInt8(ascii: "2")...UInt8(ascii: "7")).contains(payload[place + 4]) { return true }
            default:
                continue
            }
        }
        return false
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

extension UnsafeRawBufferPointer {
    /// The bytes of a text stand at an offset.
    fileprivate func has(_ text: StaticString, at offset: Int) -> Bool {
        text.withUTF8Buffer { text in
            offset >= 0 && text.count <= count - offset
                && text.indices.allSatisfy { self[offset + $0] == text[$0] }
        }
    }
}
