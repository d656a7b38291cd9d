/// A `SendRequest` read in place: the fields for the worker, checked as far as one request can be by itself.
///
/// Every pointer points into the record's value, or into storage that the view owns when the value could not be used
/// as it stands (JSON, hexadecimal tokens, several tokens in `tokens`). So the value must stay alive and unchanged for
/// as long as the view is used. In the common form (binary; `packed_tokens`, or a single raw token) making and copying
/// a view costs no allocation.
///
/// Not thread-safe, like the bytes it shows; copies share them.
public struct SendRequestView {
    /// The length of a token in `packed_tokens`. [13]
    public static let packedTokenBytes = 32

    /// The most tokens of a request: as many as fit into the longest record, packed. [ours]
    public static let tokenLimit = 32_768

    /// The longest coalescing key. [ours]
    public static let coalescingKeyBytes = 255

    /// The publisher's request id, UTF-8; may be empty.
    public let requestID: UnsafeRawBufferPointer

    /// The environment's name, UTF-8; empty: the only one configured.
    public let environment: UnsafeRawBufferPointer

    /// The payload as published, not scanned yet; empty: the request has a structured notification.
    public let payload: UnsafeRawBufferPointer

    /// The structured notification, of which the payload is made; nil: the request has a payload.
    ///
    /// In the storage: few requests have one, and its size would make every view expensive to copy.
    public var notification: PushNotification? { decodedNotification?.message }

    /// The same, which views that were decoded with the same memo may share.
    public var decodedNotification: DecodedNotification? { storage?.notification }

    /// The request has a structured notification.
    public var isStructured: Bool { storage.map { $0.notification != nil } ?? false }

    /// UNIX seconds, UTC; 0: do not store. Nil: not said, so that the default holds.
    public let expiration: UInt32?

    /// 10 or 5 [13], or 1 [later]; nil: not said.
    public let priority: UInt8?

    /// Key for replacing an older waiting request by a newer one, UTF-8. Empty: no request is replaced.
    public let coalescingKey: UnsafeRawBufferPointer

    /// The push type, UTF-8, not judged; empty: not named.
    public let pushType: UnsafeRawBufferPointer

    /// The collapse id, UTF-8, not judged; empty: none.
    public let collapseID: UnsafeRawBufferPointer

    /// The request is for a channel, whose id, UTF-8 and not judged, stands in place of its only token.
    public let isBroadcast: Bool

    /// The outcomes to publish; nil: as the worker is set.
    public let report: RequestReport?

    /// The number of tokens, at least 1. A token's index is 0..<tokenCount.
    public let tokenCount: Int

    private let tokens: Tokens

    /// Owns the memory behind the pointers that do not point into the record's value.
    private let storage: RequestStorage?

    init(
        requestID: UnsafeRawBufferPointer,
        environment: UnsafeRawBufferPointer,
        payload: UnsafeRawBufferPointer,
        expiration: UInt32?,
        priority: UInt8?,
        coalescingKey: UnsafeRawBufferPointer,
        pushType: UnsafeRawBufferPointer,
        collapseID: UnsafeRawBufferPointer,
        isBroadcast: Bool,
        report: RequestReport?,
        tokenCount: Int,
        tokens: Tokens,
        storage: RequestStorage?
    ) {
        self.requestID = requestID
        self.environment = environment
        self.payload = payload
        self.expiration = expiration
        self.priority = priority
        self.coalescingKey = coalescingKey
        self.pushType = pushType
        self.collapseID = collapseID
        self.isBroadcast = isBroadcast
        self.report = report
        self.tokenCount = tokenCount
        self.tokens = tokens
        self.storage = storage
    }

    /// The token at `index` (0..<tokenCount). Its length is not judged: that depends on the gateway.
    @inline(__always)
    public func token(at index: Int) -> TokenView {
        precondition(index >= 0 && index < tokenCount, "a token index is below the count")
        switch tokens {
        case .contiguous(let bytes, let tokenBytes):
            let start = index &* tokenBytes
            return TokenView(
                bytes: UnsafeRawBufferPointer(rebasing: bytes[start..<start &+ tokenBytes]),
                fault: nil,
                overriding: nil
            )
        case .listed(let views):
            return views[index]
        }
    }

    /// Some tokens have values of their own.
    public var hasOverrides: Bool {
        guard case .listed(let views) = tokens else { return false }
        return views.contains { $0.overriding != nil }
    }

    /// The view owns what it shows: it must be kept as long as that is used.
    public var ownsStorage: Bool { storage != nil }

    /// The place of the tokens.
    enum Tokens {
        /// End to end, all of the same length.
        case contiguous(UnsafeRawBufferPointer, tokenBytes: Int)
        /// One entry each.
        case listed(UnsafeBufferPointer<TokenView>)
    }
}

/// One token of a request.
public struct TokenView {
    /// The token's bytes; empty when `fault` is set.
    public let bytes: UnsafeRawBufferPointer

    /// `tokenMissing` or `tokenNotHexadecimal`: only this token is at fault, the others of the request are not.
    public let fault: RecordFault?

    /// The token's message, which has fields beside the token; nil: it has none.
    let overriding: UnsafeRawBufferPointer?

    /// Values that the request has for this token alone; nil: none.
    public var overrides: TokenOverrides? {
        overriding.flatMap(TokenOverrides.init(message:))
    }
}

/// The possessions of a view whose record could not be used in place.
final class RequestStorage {
    /// A binary form made from JSON, which the fields point into.
    private let message: UnsafeMutableRawBufferPointer?
    private let tokens: UnsafeMutableBufferPointer<TokenView>
    /// The bytes of tokens that were hexadecimal.
    private let tokenBytes: UnsafeMutableRawBufferPointer
    let notification: DecodedNotification?

    init(
        message: UnsafeMutableRawBufferPointer?,
        tokens: UnsafeMutableBufferPointer<TokenView> = .init(start: nil, count: 0),
        tokenBytes: UnsafeMutableRawBufferPointer = .init(start: nil, count: 0),
        notification: DecodedNotification?
    ) {
        self.message = message
        self.notification = notification
        self.tokens = tokens
        self.tokenBytes = tokenBytes
    }

    deinit {
        message?.deallocate()
        tokens.deallocate()
        tokenBytes.deallocate()
    }
}
