/// Memory for frames, in chunks of one TLS record's size that are used again and again.
///
/// Lanes of one thread share one: after a burst of a lane its chunks serve the others, and few lie idle however many
/// lanes there are. Used by one thread at a time.
public final class FrameChunks {
    private var spare: [UnsafeMutableRawPointer] = []
    private let mostSpare: Int

    /// Chunks that no lane uses.
    var spareCount: Int { spare.count }

    /// - Parameter mostSpare: chunks kept while no lane needs them; more are freed.
    public init(mostSpare: Int = 256) {
        self.mostSpare = mostSpare
    }

    deinit {
        for chunk in spare { chunk.deallocate() }
    }

    /// A chunk of ``FrameLog/chunkBytes``, of any content.
    func take() -> UnsafeMutableRawPointer {
        spare.popLast() ?? .allocate(byteCount: FrameLog.chunkBytes, alignment: 64)
    }

    func giveBack(_ chunk: UnsafeMutableRawPointer) {
        if spare.count < mostSpare { spare.append(chunk) } else { chunk.deallocate() }
    }
}
