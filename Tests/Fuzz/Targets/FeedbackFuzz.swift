import APNsProtocol

/// A provider reads any bytes of a feedback service, or of a host in its place.
struct FeedbackFuzz {
    private let input: FuzzInput

    init(_ input: FuzzInput) {
        self.input = input
    }

    func run() throws(BrokenInvariant) {
        let expected = read(.atOnce)
        let tuples = read(.asGiven)
        try expect(tuples == expected, "the tuples depend on how the stream is cut")
        try expect(tuples.left == remainder(behind: tuples.tuples), "what is left of the stream is miscounted")
    }

    private struct Reading: Equatable {
        var tuples: [FeedbackTuple] = []
        var left = 0
    }

    private func read(_ chunking: Chunking) -> Reading {
        var decoder = FeedbackDecoder()
        var reading = Reading()
        for chunk in chunking.cut(input.stream, sizes: input.chunkSizes) {
            chunk.withUnsafeBytes { bytes in
                decoder.decode(bytes) { reading.tuples.append($0) }
            }
        }
        reading.left = decoder.endOfStream()
        return reading
    }

    /// The tuples, written again, are the stream but for an incomplete one at its end: nothing is made up, changed,
    /// left out or told twice.
    ///
    /// - Returns: how many bytes are behind them; `nil` if they are not the beginning of the stream, or if what is
    ///   behind them is a whole tuple.
    private func remainder(behind tuples: [FeedbackTuple]) -> Int? {
        let written = tuples.flatMap(\.encoded)
        guard input.stream.starts(with: written) else { return nil }
        let rest = input.stream.dropFirst(written.count)
        guard rest.count >= FeedbackTuple.headerBytes else { return rest.count }
        let length = Int(rest[rest.startIndex + 4]) << 8 | Int(rest[rest.startIndex + 5])
        return rest.count < FeedbackTuple.headerBytes + length ? rest.count : nil
    }
}
