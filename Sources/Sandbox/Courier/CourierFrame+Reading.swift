extension CourierRequest {
    /// - Throws: ``CourierMalformation`` for a frame that a device must not send.
    init(_ frame: CourierFrameDecoder.Frame) throws(CourierMalformation) {
        guard let kind = CourierFrame.Kind(rawValue: frame.type) else { throw .unknownType(frame.type) }
        var fields = CourierFields(kind, frame.data)
        switch kind {
        case .register: self = .register(topic: try fields.lastTopic())
        case .present: self = .present(token: try fields.lastName())
        case .unregister: self = .unregister(topic: try fields.lastTopic())
        case .restore: self = .restore(topic: try fields.lastTopic())
        case .wipe: self = .wipe(topic: try fields.lastTopic())
        case .token, .presented, .notification, .refused, .unregistered: throw .unknownType(frame.type)
        }
    }
}

extension CourierMessage {
    /// - Throws: ``CourierMalformation`` for a frame that a service must not send.
    init(_ frame: CourierFrameDecoder.Frame) throws(CourierMalformation) {
        guard let kind = CourierFrame.Kind(rawValue: frame.type) else { throw .unknownType(frame.type) }
        var fields = CourierFields(kind, frame.data)
        switch kind {
        case .token:
            self = .token(topic: try fields.topic(), token: try fields.lastName())
        case .presented:
            self = .presented(topic: try fields.lastTopic())
        case .notification:
            self = .notification(
                CourierNotification(
                    topic: try fields.topic(),
                    token: try fields.name(),
                    expiration: try fields.number(),
                    priority: try fields.byte(),
                    pushType: try fields.text(fields.counted()),
                    collapseID: try fields.counted(),
                    payload: fields.rest()
                )
            )
        case .refused:
            let rawCode = try fields.byte()
            guard let code = CourierRefusal.Code(rawValue: rawCode) else { throw .unknownCode(rawCode) }
            self = .refused(CourierRefusal(code: code, text: try fields.text(fields.rest())))
        case .unregistered:
            self = .unregistered(topic: try fields.lastTopic())
        case .register, .present, .unregister, .restore, .wipe:
            throw .unknownType(frame.type)
        }
    }
}

/// The fields of one frame's data, in order.
private struct CourierFields {
    private let kind: CourierFrame.Kind
    private var data: ArraySlice<UInt8>

    init(_ kind: CourierFrame.Kind, _ data: [UInt8]) {
        self.kind = kind
        self.data = data[...]
    }

    mutating func byte() throws(CourierMalformation) -> UInt8 {
        guard let byte = data.popFirst() else { throw .truncated(kind) }
        return byte
    }

    mutating func number() throws(CourierMalformation) -> UInt32 {
        var number: UInt32 = 0
        for _ in 0..<4 { number = number << 8 | UInt32(try byte()) }
        return number
    }

    /// A topic or token with its length in front.
    mutating func name() throws(CourierMalformation) -> [UInt8] {
        let name = try counted()
        guard !name.isEmpty else { throw .emptyField(kind) }
        return name
    }

    /// A field with its length in front, which may be empty.
    mutating func counted() throws(CourierMalformation) -> [UInt8] {
        let length = Int(try byte())
        guard data.count >= length else { throw .truncated(kind) }
        defer { data = data.dropFirst(length) }
        return Array(data.prefix(length))
    }

    mutating func topic() throws(CourierMalformation) -> String {
        try text(try name())
    }

    /// A topic or token that is all that is left.
    mutating func lastName() throws(CourierMalformation) -> [UInt8] {
        guard !data.isEmpty else { throw .emptyField(kind) }
        guard data.count <= Int(UInt8.max) else { throw .fieldTooLong(kind) }
        return rest()
    }

    mutating func lastTopic() throws(CourierMalformation) -> String {
        try text(try lastName())
    }

    mutating func rest() -> [UInt8] {
        defer { data = [] }
        return Array(data)
    }

    func text(_ bytes: [UInt8]) throws(CourierMalformation) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else { throw .notText(kind) }
        return text
    }
}
