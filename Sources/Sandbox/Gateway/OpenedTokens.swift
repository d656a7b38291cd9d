import APNsProtocol

/// The tokens of one chunk of a gateway's stream, opened many at a time while the notifications are judged one by one.
///
/// Opening a token takes some hundred processor cycles alone and a tenth of that among many, and what is known of its
/// device is somewhere in memory: with the devices of the next notifications known in advance it is all fetched at the
/// same time. None of it decides anything. What is opened is found again by its place in the chunk, so an answer is
/// always that of ``TokenMint/open(_:)`` for the same bytes.
struct OpenedTokens {
    /// Number of tokens opened at a time. Beyond some dozens nothing is gained.
    static let batch = 64

    private let chunk: UnsafeRawBufferPointer
    private let mint: TokenMint
    /// One after the other, as the mint wants them.
    private let plain: UnsafeMutableRawBufferPointer
    private let places: UnsafeMutableBufferPointer<UnsafeRawPointer?>
    private let instances: UnsafeMutableBufferPointer<AppInstance?>
    private var count = 0
    private var next = 0

    /// - Parameters:
    ///   - chunk: the bytes that are about to be decoded, valid during the call.
    ///   - body: must not let its argument escape.
    @inline(__always)
    static func with<Result>(
        _ chunk: UnsafeRawBufferPointer,
        _ mint: TokenMint,
        _ body: (inout OpenedTokens) -> Result
    ) -> Result {
        withUnsafeTemporaryAllocation(byteCount: batch * TokenMint.tokenBytes, alignment: 16) { plain in
            withUnsafeTemporaryAllocation(of: UnsafeRawPointer?.self, capacity: batch) { places in
                withUnsafeTemporaryAllocation(of: AppInstance?.self, capacity: batch) { instances in
                    // Both are trivial types: there is nothing to deinitialize.
                    places.initialize(repeating: nil)
                    instances.initialize(repeating: nil)
                    var opened = OpenedTokens(
                        chunk: chunk,
                        mint: mint,
                        plain: plain,
                        places: places,
                        instances: instances
                    )
                    return body(&opened)
                }
            }
        }
    }

    private init(
        chunk: UnsafeRawBufferPointer,
        mint: TokenMint,
        plain: UnsafeMutableRawBufferPointer,
        places: UnsafeMutableBufferPointer<UnsafeRawPointer?>,
        instances: UnsafeMutableBufferPointer<AppInstance?>
    ) {
        self.chunk = chunk
        self.mint = mint
        self.plain = plain
        self.places = places
        self.instances = instances
    }

    /// The app instance that a notification's token names, `nil` for a token that is not of this mint.
    ///
    /// - Parameter prepare: is told of the instances that are about to be asked for.
    @inline(__always)
    mutating func instance(
        for notification: NotificationView,
        _ prepare: (UnsafeBufferPointer<AppInstance?>) -> Void
    ) -> AppInstance? {
        if next == count || places[next] != notification.token.baseAddress {
            openNext(from: notification.frame)
            // A frame that came in pieces, a token of a special length, or nothing to look ahead to.
            guard count > 0, places[0] == notification.token.baseAddress else {
                return mint.open(notification.token)
            }
            prepare(UnsafeBufferPointer(rebasing: instances[..<count]))
        }
        defer { next += 1 }
        return instances[next]
    }

    private mutating func openNext(from frame: UnsafeRawPointer?) {
        (count, next) = (0, 0)
        guard let start = chunk.baseAddress, let frame, start <= frame, frame < start + chunk.count else { return }
        let rest = UnsafeRawBufferPointer(rebasing: chunk[(frame - start)...])
        TokenLookahead.forEachToken(in: rest) { token in
            guard token.count == TokenMint.tokenBytes else { return false }
            places[count] = token.baseAddress
            let place = count * TokenMint.tokenBytes..<(count + 1) * TokenMint.tokenBytes
            UnsafeMutableRawBufferPointer(rebasing: plain[place]).copyMemory(from: token)
            count += 1
            return count < Self.batch
        }
        mint.openAll(
            UnsafeMutableRawBufferPointer(rebasing: plain[..<(count * TokenMint.tokenBytes)]),
            into: UnsafeMutableBufferPointer(rebasing: instances[..<count])
        )
    }
}
