/// Tokens of more than 32 bytes, "up to 100" [later].
///
/// The first 32 are sealed as ever, with the length inside; what follows is derived from them with the token key, so
/// that a token with any bit changed, cut off or added is invalid. There is one token of each length for an app
/// instance.
extension TokenMint {
    /// The sizes a token can have.
    public static let tokenLengths = tokenBytes...100

    /// Writes what follows the sealed bytes: as many as `token` has beyond them [ours].
    ///
    /// Each 32 bytes of it are the sealed ones, with their number and the token's length mixed in, encrypted once more.
    func tail(of sealed: UnsafeRawBufferPointer, into token: UnsafeMutableRawBufferPointer) {
        withUnsafeTemporaryAllocation(byteCount: Self.tokenBytes, alignment: 8) { block in
            for (number, offset) in stride(from: Self.tokenBytes, to: token.count, by: Self.tokenBytes).enumerated() {
                block.copyMemory(from: sealed)
                block[0] ^= UInt8(number + 1)
                block[1] ^= UInt8(token.count)
                cipher.encrypt(block)
                let part = UnsafeMutableRawBufferPointer(rebasing: token[offset...].prefix(Self.tokenBytes))
                part.copyMemory(from: UnsafeRawBufferPointer(rebasing: block[..<part.count]))
            }
        }
    }

    /// A longer token ends as it has to.
    ///
    /// - Returns: `false` for tokens without a tail too.
    func hasGenuineTail(_ token: UnsafeRawBufferPointer) -> Bool {
        guard token.count > Self.tokenBytes, Self.tokenLengths.contains(token.count) else { return false }
        let sealed = UnsafeRawBufferPointer(rebasing: token[..<Self.tokenBytes])
        return withUnsafeTemporaryAllocation(byteCount: token.count, alignment: 8) { expected in
            tail(of: sealed, into: expected)
            return expected[Self.tokenBytes...].elementsEqual(token[Self.tokenBytes...])
        }
    }

    /// Text about a length that no token has.
    static func lengthProblem(_ lengthBytes: Int) -> String {
        "\(lengthBytes), \(tokenLengths.lowerBound) to \(tokenLengths.upperBound) are possible"
    }
}
