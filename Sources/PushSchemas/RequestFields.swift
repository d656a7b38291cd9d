/// The fields of a `SendRequest` as they stand in its binary form: last one wins, as Protobuf says.
struct RequestFields {
    /// A `DeviceToken` in place; nil stands for one that is not set.
    enum Token {
        case raw(UnsafeRawBufferPointer)
        case hexadecimal(UnsafeRawBufferPointer)
    }

    private enum Field {
        static let requestID: UInt32 = 1
        static let environment: UInt32 = 2
        static let payload: UInt32 = 3
        static let payloadJSON: UInt32 = 4
        static let tokens: UInt32 = 5
        static let packedTokens: UInt32 = 6
        static let expiration: UInt32 = 7
        static let priority: UInt32 = 8
        static let coalescingKey: UInt32 = 9
        static let pushType: UInt32 = 10
        static let collapseID: UInt32 = 11
        static let channel: UInt32 = 12
        static let notification: UInt32 = 13
        static let report: UInt32 = 14
    }

    private(set) var requestID = UnsafeRawBufferPointer(start: nil, count: 0)
    private(set) var environment = UnsafeRawBufferPointer(start: nil, count: 0)
    private(set) var payload = UnsafeRawBufferPointer(start: nil, count: 0)
    private(set) var notification: DecodedNotification?
    /// Of the notification, not decoded yet.
    private var parts = NotificationParts()
    /// Nil: not said.
    private(set) var expiration: Int64?
    /// 0: not said.
    private(set) var priority: UInt32 = 0
    private(set) var coalescingKey = UnsafeRawBufferPointer(start: nil, count: 0)
    private(set) var pushType = UnsafeRawBufferPointer(start: nil, count: 0)
    private(set) var collapseID = UnsafeRawBufferPointer(start: nil, count: 0)
    private(set) var channel = UnsafeRawBufferPointer(start: nil, count: 0)
    /// 0: not said.
    private(set) var report: UInt32 = 0
    /// Nil when absent or empty: Protobuf does not distinguish the two.
    private(set) var packedTokens: UnsafeRawBufferPointer?
    /// The number of `tokens`.
    private(set) var tokenCount = 0
    /// The last of `tokens`.
    private(set) var lastToken: Token?
    /// Some of `tokens` have fields beside the token.
    private(set) var hasOverrides = false
    /// The sum of the lengths of the hexadecimal ones among `tokens`.
    private(set) var hexadecimalBytes = 0

    private let memo: NotificationMemo?

    /// - Parameters:
    ///   - memo: of a reader of many records; nil: there is none.
    ///   - notification: known already; nil: it stands in the message, if there is one.
    init(memo: NotificationMemo?, notification: DecodedNotification?) {
        self.memo = memo
        self.notification = notification
    }

    /// Reads `message` from end to end.
    ///
    /// Throws `valueUndecodable`, `notificationTooLarge` or `tokensTooMany`.
    mutating func read(_ message: UnsafeRawBufferPointer) throws(RecordError) {
        do throws(RecordError) {
            try readFields(message)
            if let decoded = try parts.take(memo) { notification = decoded }
        } catch {
            throw error == Self.malformed ? RequestDecoding.notBinary("SendRequest", message) : error
        }
    }

    private mutating func readFields(_ message: UnsafeRawBufferPointer) throws(RecordError) {
        var cursor = ProtobufCursor(message)
        while !cursor.isAtEnd {
            guard let tag = cursor.readTag() else { throw Self.malformed }
            switch (tag.field, tag.wireType) {
            case (Field.requestID, .delimited): requestID = try Self.readString(&cursor)
            case (Field.environment, .delimited): environment = try Self.readString(&cursor)
            case (Field.payload, .delimited): try setPayload(try Self.readBytes(&cursor))
            case (Field.payloadJSON, .delimited): try setPayload(try Self.readString(&cursor))
            case (Field.notification, .delimited):
                // One of the three is set: the last one wins, and takes the others away.
                payload = UnsafeRawBufferPointer(start: nil, count: 0)
                try parts.append(try Self.readBytes(&cursor))
            case (Field.packedTokens, .delimited):
                let packed = try Self.readBytes(&cursor)
                packedTokens = packed.isEmpty ? nil : packed
            case (Field.tokens, .delimited):
                tokenCount += 1
                guard tokenCount <= SendRequestView.tokenLimit else { throw Self.tooManyTokens }
                lastToken = try Self.readToken(try Self.readBytes(&cursor), hasOverrides: &hasOverrides)
                if case .hexadecimal(let digits) = lastToken { hexadecimalBytes += digits.count }
            case (Field.expiration, .varint):
                guard let value = cursor.readVarint() else { throw Self.malformed }
                expiration = Int64(bitPattern: value)
            case (Field.priority, .varint):
                guard let value = cursor.readVarint() else { throw Self.malformed }
                priority = UInt32(truncatingIfNeeded: value)
            case (Field.coalescingKey, .delimited): coalescingKey = try Self.readString(&cursor)
            case (Field.pushType, .delimited): pushType = try Self.readString(&cursor)
            case (Field.collapseID, .delimited): collapseID = try Self.readString(&cursor)
            case (Field.channel, .delimited): channel = try Self.readString(&cursor)
            case (Field.report, .varint):
                guard let value = cursor.readVarint() else { throw Self.malformed }
                report = UInt32(truncatingIfNeeded: value)
            default:
                guard cursor.skip(tag) else { throw Self.malformed }
            }
        }
    }

    /// Takes the notification away, which has to be one all the same.
    private mutating func setPayload(_ bytes: UnsafeRawBufferPointer) throws(RecordError) {
        payload = bytes
        _ = try parts.take(memo)
    }

    /// Checks the fields against the rules of the schema.
    func check() throws(RecordError) {
        guard !payload.isEmpty || notification != nil else {
            throw RecordError(.payloadMissing, "the request carries no payload and no notification")
        }
        guard !hasOverrides || notification != nil else {
            throw RecordError(
                .overridesMisplaced,
                "a token has 'badge', 'locale' or 'loc_args' beside a payload; they are allowed with 'notification'"
            )
        }
        try checkTokens()
        if let expiration, UInt32(exactly: expiration) == nil {
            throw RecordError(
                .expirationOutOfRange,
                "'expiration' is \(expiration); UNIX seconds, 0...\(UInt32.max), are allowed"
            )
        }
        guard priority == 0 || priority == 10 || priority == 5 || priority == 1 else {
            throw RecordError(.priorityInvalid, "'priority' is \(priority); 10, 5 and 1 are allowed")
        }
        guard coalescingKey.count <= SendRequestView.coalescingKeyBytes else {
            throw RecordError(
                .coalescingKeyTooLong,
                "'coalescing_key' has \(coalescingKey.count) bytes; \(SendRequestView.coalescingKeyBytes) are allowed"
            )
        }
        guard report == 0 || RequestReport(rawValue: report) != nil else {
            let allowed = RequestReport.allCases.map { "\($0.rawValue) (\($0))" }.joined(separator: ", ")
            throw RecordError(.reportInvalid, "'report' is \(report); allowed: 0 (as the worker is set), \(allowed)")
        }
    }

    private func checkTokens() throws(RecordError) {
        if !channel.isEmpty {
            guard tokenCount == 0, packedTokens == nil else {
                throw RecordError(.tokensAmbiguous, "'channel' is set beside tokens; one of the two is allowed")
            }
        } else if let packedTokens {
            guard tokenCount == 0 else {
                throw RecordError(.tokensAmbiguous, "both 'tokens' and 'packed_tokens' are set; one is allowed")
            }
            guard packedTokens.count.isMultiple(of: SendRequestView.packedTokenBytes) else {
                throw RecordError(
                    .packedTokensLength,
                    "the length of 'packed_tokens' in bytes is \(packedTokens.count); a multiple of 32 is allowed"
                )
            }
        } else if tokenCount == 0 {
            throw RecordError(.tokensMissing, "the request carries neither a token nor a channel")
        }
    }

    /// Calls `body` with each of `tokens` of a message that `read` has accepted, in order.
    ///
    /// The second argument of `body` is the token's message if it has fields beside the token, else nil.
    static func forEachToken(
        of message: UnsafeRawBufferPointer,
        _ body: (Token?, UnsafeRawBufferPointer?) -> Void
    ) {
        var cursor = ProtobufCursor(message)
        while let tag = cursor.readTag() {
            if tag.field == Field.tokens, tag.wireType == .delimited {
                var hasOverrides = false
                guard let bytes = cursor.readDelimited(),
                    case .success(let token) = tokenResult(bytes, hasOverrides: &hasOverrides)
                else { return }
                body(token, hasOverrides ? bytes : nil)
            } else if !cursor.skip(tag) {
                return
            }
        }
    }

    /// The result of `readToken` as a value: `try?` would make one of "malformed" and "not set".
    private static func tokenResult(
        _ message: UnsafeRawBufferPointer,
        hasOverrides: inout Bool
    ) -> Result<Token?, RecordError> {
        do throws(RecordError) {
            return .success(try readToken(message, hasOverrides: &hasOverrides))
        } catch {
            return .failure(error)
        }
    }

    /// - Parameter hasOverrides: set if the message has fields beside the token.
    private static func readToken(
        _ message: UnsafeRawBufferPointer,
        hasOverrides: inout Bool
    ) throws(RecordError) -> Token? {
        var token: Token?
        var cursor = ProtobufCursor(message)
        while !cursor.isAtEnd {
            guard let tag = cursor.readTag() else { throw malformed }
            switch (tag.field, tag.wireType) {
            case (1, .delimited): token = .raw(try readBytes(&cursor))
            case (2, .delimited): token = .hexadecimal(try readString(&cursor))
            case (TokenOverrides.Field.badge, .varint):
                guard cursor.readVarint() != nil else { throw malformed }
                hasOverrides = true
            case (TokenOverrides.Field.locale, .delimited), (TokenOverrides.Field.locArgs, .delimited):
                _ = try readString(&cursor)
                hasOverrides = true
            default:
                guard cursor.skip(tag) else { throw malformed }
            }
        }
        return token
    }

    private static func readBytes(_ cursor: inout ProtobufCursor) throws(RecordError) -> UnsafeRawBufferPointer {
        guard let bytes = cursor.readDelimited() else { throw malformed }
        return bytes
    }

    private static func readString(_ cursor: inout ProtobufCursor) throws(RecordError) -> UnsafeRawBufferPointer {
        let bytes = try readBytes(&cursor)
        guard isValidUTF8(bytes) else { throw RecordError(.valueUndecodable, "a text field is not UTF-8") }
        return bytes
    }

    private static var tooManyTokens: RecordError {
        RecordError(
            .tokensTooMany,
            "the request carries more than \(SendRequestView.tokenLimit) tokens; split them over several records"
        )
    }

    private static var malformed: RecordError {
        RecordError(.valueUndecodable, "not a SendRequest in Protobuf's binary form")
    }
}
