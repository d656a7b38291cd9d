/// The provider's reading side of a feedback connection: tuples until the service closes [10], cut into chunks
/// anywhere.
///
/// Tokens of every length are passed on, zero included: the caller judges them. The decoder holds at most one tuple,
/// 65,541 bytes. A value without references to its input; it may be moved between threads, and is used by one at a
/// time.
public struct FeedbackDecoder: Sendable {
    /// The beginning of an incomplete tuple. Empty between tuples.
    private var tail: [UInt8] = []

    /// At the beginning of a stream.
    public init() {}

    /// Takes the next bytes of the stream.
    ///
    /// - Parameters:
    ///   - bytes: valid during the call; tuples own copies of their tokens.
    ///   - body: called once for each whole tuple, in stream order. It must not touch this decoder.
    public mutating func decode(_ bytes: UnsafeRawBufferPointer, _ body: (FeedbackTuple) -> Void) {
        var offset = 0
        // Twice at most: once for the missing bytes of the header, once for those of the token.
        while !tail.isEmpty {
            let neededBytes = tail.withUnsafeBytes(Self.neededBytes)
            if tail.count == neededBytes {
                tail.withUnsafeBytes { body(Self.tuple($0)) }
                tail.removeAll(keepingCapacity: true)
                break
            }
            let end = min(bytes.count, offset + neededBytes - tail.count)
            guard offset < end else { return }
            tail.append(contentsOf: bytes[offset..<end])
            offset = end
        }
        while offset < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[offset...])
            let neededBytes = Self.neededBytes(rest)
            guard rest.count >= neededBytes else {
                tail.append(contentsOf: rest)
                return
            }
            body(Self.tuple(UnsafeRawBufferPointer(rebasing: rest[..<neededBytes])))
            offset += neededBytes
        }
    }

    /// Ends the decoding; called when the service has closed.
    ///
    /// - Returns: the number of bytes of an incomplete tuple. More than 0: the stream was cut off, and the list was
    ///   cleared nevertheless [13].
    public func endOfStream() -> Int {
        tail.count
    }

    /// Length in bytes of the tuple at the beginning of `bytes`. While its header is incomplete, the length of the
    /// header.
    private static func neededBytes(_ bytes: UnsafeRawBufferPointer) -> Int {
        guard let base = bytes.baseAddress, bytes.count >= FeedbackTuple.headerBytes else {
            return FeedbackTuple.headerBytes
        }
        return FeedbackTuple.headerBytes + Int(base.bigEndian(at: 4, as: UInt16.self))
    }

    /// - Parameter bytes: exactly one tuple.
    private static func tuple(_ bytes: UnsafeRawBufferPointer) -> FeedbackTuple {
        guard let base = bytes.baseAddress else {
            preconditionFailure("a tuple has a header")
        }
        return FeedbackTuple(timestamp: base.bigEndian(at: 0), token: [UInt8](bytes[FeedbackTuple.headerBytes...]))
    }
}
