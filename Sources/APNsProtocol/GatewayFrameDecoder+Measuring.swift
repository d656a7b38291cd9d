extension GatewayFrameDecoder {
    /// How many of the stream's next bytes it takes to make `count` more notifications whole; `nil` when these bytes
    /// hold fewer, or one that is malformed stands before that. Nothing is decoded by this.
    ///
    /// For a gateway that stops reading in the middle of what has arrived. It costs as much as decoding.
    ///
    /// - Parameter count: at least 1.
    public func lengthBytes(of count: Int, in bytes: UnsafeRawBufferPointer) -> Int? {
        precondition(count >= 1, "no notification has no length")
        guard !hasFailed else { return nil }
        var found = 0
        var offset = 0
        if bufferedBytes > 0 {
            // The one whose beginning came before: byte by byte, since only the decoder knows what it lacks.
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
