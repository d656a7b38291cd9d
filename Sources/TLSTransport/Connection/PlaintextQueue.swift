import NIOCore

/// Plaintext between `write` and `flush`, together with the promises of its writes.
///
/// Small writes are gathered so that a flush of many makes few records; a big one is kept as it is, not copied. After
/// the first flushes nothing here allocates.
struct PlaintextQueue {
    /// Chunks of plaintext, never empty.
    private var chunks: [ByteBuffer] = []
    private var promises: [EventLoopPromise<Void>] = []

    var isEmpty: Bool {
        chunks.isEmpty && promises.isEmpty
    }

    mutating func append(_ buffer: ByteBuffer, promise: EventLoopPromise<Void>?) {
        if let promise { promises.append(promise) }
        guard buffer.readableBytes > 0 else { return }
        if let last = chunks.indices.last,
            chunks[last].readableBytes + buffer.readableBytes <= TLSSession.recordBytes
        {
            chunks[last].writeImmutableBuffer(buffer)
        } else {
            chunks.append(buffer)
        }
    }

    /// Encrypts all plaintext and forgets it. The promises stay: see ``takePromise()``.
    mutating func encrypt(with session: TLSSession) -> TLSError? {
        defer { chunks.removeAll(keepingCapacity: true) }
        for chunk in chunks {
            if let error = chunk.withUnsafeReadableBytes({ session.write($0) }) { return error }
        }
        return nil
    }

    /// One promise that fulfils those of all writes so far; `nil` if there is none.
    mutating func takePromise() -> EventLoopPromise<Void>? {
        guard let first = promises.first else { return nil }
        for promise in promises.dropFirst() {
            first.futureResult.cascade(to: promise)
        }
        promises.removeAll(keepingCapacity: true)
        return first
    }

    /// Forgets all plaintext and fails the promises.
    mutating func fail(_ error: any Error) {
        chunks.removeAll()
        takePromise()?.fail(error)
    }
}
