/// Memory for frames, in chunks of one TLS record's size that are used again and again.
///
/// Lanes of one thread share one: after a burst of a lane its chunks serve the others, and few lie idle however many
/// lanes there are. When none was taken for ``RestWatch/patience`` all that lie idle are freed. Used by one thread at a
/// time.
public final class FrameChunks {
    private var spare: [UnsafeMutableRawPointer] = []
    private let mostSpare: Int
    /// Chunks taken, ever.
    private var taken: UInt64 = 0
    private var restWatch = RestWatch()

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
        taken += 1
        return spare.popLast() ?? .allocate(byteCount: FrameLog.chunkBytes, alignment: 64)
    }

    /// Frees idle chunks after a long rest.
    public func rest(now: MonotonicTime) {
        guard restWatch.isOver(work: taken, isAtRest: true, now: now) else { return }
        for chunk in spare { chunk.deallocate() }
        spare = []
    }

    func giveBack(_ chunk: UnsafeMutableRawPointer) {
        if spare.count < mostSpare { spare.append(chunk) } else { chunk.deallocate() }
    }
}
