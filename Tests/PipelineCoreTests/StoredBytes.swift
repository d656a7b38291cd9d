@testable import PipelineCore

extension FrameLog {
    /// Bytes kept in chunks, spare ones not counted.
    var storedBytes: Int { (chunks.count - firstChunk) * Self.chunkBytes }
}
