/// The path of a request to one device: `/3/device/<hexadecimal token>` [later].
public enum ProviderPath {
    /// The path without its token.
    public static let prefix: StaticString = "/3/device/"

    /// The longest token that is read, in bytes. A token's length is not to be assumed: 80 bytes were seen [field];
    /// the limit is that of the binary interface [later].
    public static let tokenLimitBytes = 100

    /// The length of the path to a token.
    public static func bytes(tokenBytes: Int) -> Int {
        prefix.utf8CodeUnitCount + 2 * tokenBytes
    }

    /// Writes the path to a token.
    ///
    /// - Parameter output: ``bytes(tokenBytes:)`` bytes at least; a shorter one traps.
    /// - Returns: the number of bytes written.
    @discardableResult
    public static func write(token: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) -> Int {
        let start = prefix.utf8CodeUnitCount
        precondition(output.count >= bytes(tokenBytes: token.count), "the path does not fit")
        output.copyMemory(from: UnsafeRawBufferPointer(start: prefix.utf8Start, count: start))
        for (index, byte) in token.enumerated() {
            output[start + 2 * index] = Hex.digit(byte >> 4)
            output[start + 2 * index + 1] = Hex.digit(byte & 15)
        }
        return start + 2 * token.count
    }

    /// The path to a token as text: for the cold path.
    public static func text(token: [UInt8]) -> String {
        "\(prefix)\(Hex.encode(token))"
    }

    /// Reads the token of a path, as the service does.
    ///
    /// - Parameters:
    ///   - path: the value of `:path`.
    ///   - body: gets the token, 1 to ``tokenLimitBytes`` bytes, valid during the call.
    /// - Throws: `BadPath`, `MissingDeviceToken` if the path ends before the token, `BadDeviceToken` for a token that
    ///   is not hexadecimal or too long; and errors of `body`.
    public static func withToken<Value>(
        of path: UnsafeRawBufferPointer,
        _ body: (UnsafeRawBufferPointer) throws(ProviderReason) -> Value
    ) throws(ProviderReason) -> Value {
        let digits = try Self.digits(of: path)
        guard !digits.isEmpty else { throw .missingDeviceToken }
        guard digits.count <= 2 * tokenLimitBytes else { throw .badDeviceToken }
        let result = withUnsafeTemporaryAllocation(byteCount: tokenLimitBytes, alignment: 1) { room in
            Result<Value, ProviderReason> { () throws(ProviderReason) -> Value in
                guard let count = try? Hex.decode(digits, into: room) else { throw .badDeviceToken }
                return try body(UnsafeRawBufferPointer(rebasing: room[..<count]))
            }
        }
        return try result.get()
    }

    /// The rest behind the prefix, whose last slash may be absent if nothing follows.
    private static func digits(of path: UnsafeRawBufferPointer) throws(ProviderReason) -> UnsafeRawBufferPointer {
        let shared = min(path.count, prefix.utf8CodeUnitCount)
        let isSame = (0..<shared).allSatisfy { path[$0] == prefix.utf8Start[$0] }
        guard isSame, path.count >= prefix.utf8CodeUnitCount - 1 else { throw .badPath }
        return UnsafeRawBufferPointer(rebasing: path[shared...])
    }
}
