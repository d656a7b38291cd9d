extension SendRequestView {
    /// Decodes the value of a record of push.requests, bare or in Confluent's frame.
    ///
    /// `value` must outlive the view. A fault of the whole request throws; a fault of one token only is that token's
    /// (`TokenView.fault`).
    ///
    /// Throws `valueEmpty`, `valueUndecodable`, `valueTooLarge`, `notificationTooLarge`, `payloadMissing`,
    /// `tokensMissing`, `tokensTooMany`, `tokensAmbiguous`, `packedTokensLength`, `overridesMisplaced`,
    /// `expirationOutOfRange`, `priorityInvalid`, `coalescingKeyTooLong` or `reportInvalid`.
    ///
    /// - Parameter memo: of a reader of many records; nil: a notification is decoded in any case.
    public init(
        decoding value: UnsafeRawBufferPointer,
        as contentType: RecordContentType,
        memo: NotificationMemo? = nil
    ) throws(RecordError) {
        guard !value.isEmpty else { throw RecordError(.valueEmpty, "the record has no value") }
        let (value, contentType) = try ConfluentFrame.open(value, as: contentType)
        switch contentType {
        case .protobuf:
            try self.init(binary: value, owned: nil, memo: memo)
        case .json:
            // Off the hot path: by way of the message and its binary form, so that one reader judges both.
            var request = try RequestDecoding.decode(PushSendRequest.self, from: value, as: .json)
            var notification: DecodedNotification?
            if case .notification(let message) = request.content {
                // It stays as it is: each level of nesting would measure all those inside it again.
                notification = memo?.notification(message) ?? DecodedNotification(message)
                request.content = nil
            }
            let encoded: [UInt8]
            do {
                encoded = try request.serializedBytes()
            } catch {
                throw RecordError(.valueUndecodable, "the request is too big to be handled: \(error)")
            }
            let owned = UnsafeMutableRawBufferPointer.allocate(byteCount: encoded.count, alignment: 1)
            owned.copyBytes(from: encoded)
            try self.init(binary: UnsafeRawBufferPointer(owned), owned: owned, notification)
        }
    }

    /// Reads the binary form. `owned` is `message`'s memory if the view is to own it; it is freed on a throw.
    private init(
        binary message: UnsafeRawBufferPointer,
        owned: UnsafeMutableRawBufferPointer?,
        _ notification: DecodedNotification? = nil,
        memo: NotificationMemo? = nil
    ) throws(RecordError) {
        var fields = RequestFields(memo: memo, notification: notification)
        do throws(RecordError) {
            try fields.read(message)
            try fields.check()
        } catch {
            owned?.deallocate()
            throw error
        }
        var storage: RequestStorage?
        let tokens: Tokens
        let tokenCount: Int
        if !fields.channel.isEmpty {
            tokens = .contiguous(fields.channel, tokenBytes: fields.channel.count)
            tokenCount = 1
        } else if let packed = fields.packedTokens {
            tokens = .contiguous(packed, tokenBytes: Self.packedTokenBytes)
            tokenCount = packed.count / Self.packedTokenBytes
        } else if fields.tokenCount == 1, !fields.hasOverrides, case .raw(let raw) = fields.lastToken, !raw.isEmpty {
            tokens = .contiguous(raw, tokenBytes: raw.count)
            tokenCount = 1
        } else {
            let list = TokenList(of: message, count: fields.tokenCount, hexadecimalBytes: fields.hexadecimalBytes)
            tokens = .listed(UnsafeBufferPointer(list.tokens))
            tokenCount = fields.tokenCount
            storage = RequestStorage(
                message: owned,
                tokens: list.tokens,
                tokenBytes: list.bytes,
                notification: fields.notification
            )
        }
        if storage == nil, owned != nil || fields.notification != nil {
            storage = RequestStorage(message: owned, notification: fields.notification)
        }
        self.init(
            requestID: fields.requestID,
            environment: fields.environment,
            payload: fields.payload,
            expiration: fields.expiration.map(UInt32.init(truncatingIfNeeded:)),
            priority: fields.priority == 0 ? nil : UInt8(truncatingIfNeeded: fields.priority),
            coalescingKey: fields.coalescingKey,
            pushType: fields.pushType,
            collapseID: fields.collapseID,
            isBroadcast: !fields.channel.isEmpty,
            report: RequestReport(rawValue: fields.report),
            tokenCount: tokenCount,
            tokens: tokens,
            storage: storage
        )
    }
}

/// The tokens of `SendRequest.tokens`, listed. The memory is handed to `RequestStorage`.
private struct TokenList {
    let tokens: UnsafeMutableBufferPointer<TokenView>
    let bytes: UnsafeMutableRawBufferPointer

    /// `message` has been read before: it is well-formed, with `count` tokens of at most `hexadecimalBytes` digits.
    init(of message: UnsafeRawBufferPointer, count: Int, hexadecimalBytes: Int) {
        tokens = .allocate(capacity: count)
        bytes = .allocate(byteCount: hexadecimalBytes / 2, alignment: 1)
        var used = 0
        var index = 0
        RequestFields.forEachToken(of: message) { token, overriding in
            let view: TokenView
            switch token {
            case .raw(let raw):
                view =
                    raw.isEmpty
                    ? Self.faulty(.tokenMissing) : TokenView(bytes: raw, fault: nil, overriding: overriding)
            case .hexadecimal(let digits):
                let room = UnsafeMutableRawBufferPointer(rebasing: bytes[used..<used + digits.count / 2])
                if digits.isEmpty {
                    view = Self.faulty(.tokenMissing)
                } else if decodeHexadecimal(digits, into: room) {
                    let bytes = UnsafeRawBufferPointer(room)
                    view = TokenView(bytes: bytes, fault: nil, overriding: overriding)
                    used += room.count
                } else {
                    view = Self.faulty(.tokenNotHexadecimal)
                }
            case nil:
                view = Self.faulty(.tokenMissing)
            }
            tokens.initializeElement(at: index, to: view)
            index += 1
        }
        precondition(index == count, "the tokens were counted before")
    }

    private static func faulty(_ fault: RecordFault) -> TokenView {
        TokenView(bytes: UnsafeRawBufferPointer(start: nil, count: 0), fault: fault, overriding: nil)
    }
}
