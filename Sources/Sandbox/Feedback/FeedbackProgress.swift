/// Counts the tuples of a feedback stream that have arrived. It knows only how much of the stream has.
///
/// Tuples are written in chunks; within one they are as good as evenly spread over the ciphertext, so that the count is
/// right to the tuple at each end and to one tuple within.
struct FeedbackProgress {
    private struct Chunk {
        /// Position in the stream behind it, bytes.
        var end: UInt64
        var tuples: Int
    }

    private var chunks: [Chunk] = []
    /// Position in the stream behind everything that has arrived as a whole.
    private var start: UInt64
    /// Tuples before that.
    private var arrived = 0
    private var firstChunk = 0

    /// - Parameter start: position in the stream before the first tuple, bytes.
    init(start: UInt64) {
        self.start = start
    }

    /// So many more tuples were written, up to a position in the stream.
    mutating func wrote(tuples: Int, upTo end: UInt64) {
        chunks.append(Chunk(end: end, tuples: tuples))
    }

    /// - Parameter bytes: how much of the stream has arrived; never less than before.
    /// - Returns: whole tuples that have.
    mutating func tuples(arrivedBytes bytes: UInt64) -> Int {
        while firstChunk < chunks.count, chunks[firstChunk].end <= bytes {
            arrived += chunks[firstChunk].tuples
            start = chunks[firstChunk].end
            firstChunk += 1
        }
        guard firstChunk < chunks.count, bytes > start else { return arrived }
        let chunk = chunks[firstChunk]
        return arrived + Int(UInt64(chunk.tuples) * (bytes - start) / (chunk.end - start))
    }
}
