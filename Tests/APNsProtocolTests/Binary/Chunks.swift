import TestSupport

extension [UInt8] {
    /// Cut anywhere: single bytes, short pieces, long ones and empty ones.
    func chunked(using generator: inout SeededGenerator) -> [[UInt8]] {
        var chunks: [[UInt8]] = []
        var rest = self[...]
        while !rest.isEmpty {
            let longest = [0, 1, 3, 12, 60, rest.count].randomElement(using: &generator) ?? 1
            let size = Swift.min(rest.count, Int.random(in: 0...longest, using: &generator))
            chunks.append([UInt8](rest.prefix(size)))
            rest = rest.dropFirst(size)
        }
        return chunks
    }
}
