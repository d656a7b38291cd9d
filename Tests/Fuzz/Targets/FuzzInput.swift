/// An input as all targets read it: how to cut the stream, and the stream.
///
/// | bytes | content |
/// |---|---|
/// | 1 | settings, a bit each; what they mean is the target's |
/// | 1 | in its lowest 3 bits: how many chunk sizes follow |
/// | 1 each | sizes of the chunks, in turn, 0 for all that is left |
/// | the rest | the stream |
///
/// A mutation of the head only cuts the same stream in another way, so both are explored.
struct FuzzInput {
    let settings: UInt8
    /// Without any the stream comes at once.
    let chunkSizes: [Int]
    let stream: [UInt8]

    init(_ bytes: UnsafeRawBufferPointer) {
        var rest = bytes[...]
        settings = rest.popFirst() ?? 0
        let sizes = Int((rest.popFirst() ?? 0) & 7)
        chunkSizes = rest.prefix(sizes).map { Int($0) }
        stream = Array(rest.dropFirst(sizes))
    }

    /// One of the settings is on, 0 to 7.
    func isSet(_ bit: Int) -> Bool {
        settings >> bit & 1 == 1
    }
}

/// Ways of cutting a stream.
enum Chunking: CaseIterable {
    /// As the input says.
    case asGiven
    case atOnce

    /// The stream's chunks in order.
    func cut(_ stream: [UInt8], sizes: [Int]) -> [ArraySlice<UInt8>] {
        guard self == .asGiven, !sizes.isEmpty else { return [stream[...]] }
        var chunks: [ArraySlice<UInt8>] = []
        var rest = stream[...]
        while !rest.isEmpty {
            let size = sizes[chunks.count % sizes.count]
            chunks.append(rest.prefix(size == 0 ? rest.count : size))
            rest = rest.dropFirst(chunks[chunks.count - 1].count)
        }
        return chunks
    }
}
