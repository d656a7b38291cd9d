extension GatewayFrameDecoder {
    /// The number of bytes that complete `count` more notifications. `nil` when `bytes` hold fewer notifications, or
    /// when a malformed one comes before. Nothing is decoded.
    ///
    /// For a gateway that stops reading in the middle of a chunk. The call costs as much as decoding.
    ///
    /// - Parameter count: at least 1.
    public func lengthBytes(of count: Int, in bytes: UnsafeRawBufferPointer) -> Int? {
        precondition(count >= 1, "no notification has no length")
        guard !hasFailed else { return nil }
        var found = 0
        var offset = 0
        if bufferedBytes > 0 {
            // The notification that began in an earlier chunk: byte by byte, since only the decoder knows what it
            // lacks.
            var decoder = self
            while found == 0 {
                guard offset < bytes.count else { return nil }
                _ = decoder.decode(UnsafeRawBufferPointer(rebasing: bytes[offset...offset])) { _ in
                    found += 1
                    return nil
                }
                guard !decoder.hasFailed else { return nil }
                offset += 1
            }
        }
        while found < count {
            guard offset < bytes.count else { return nil }
            let rest = UnsafeRawBufferPointer(rebasing: bytes[offset...])
            guard case .whole(let frameBytes) = Self.parseFrame(rest, limits: limits, { _ in nil }) else { return nil }
            offset += frameBytes
            found += 1
        }
        return offset
    }
}
