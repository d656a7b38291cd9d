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
        self.chunks.isEmpty && self.promises.isEmpty
    }

    mutating func append(_ buffer: ByteBuffer, promise: EventLoopPromise<Void>?) {
        if let promise { self.promises.append(promise) }
        guard buffer.readableBytes > 0 else { return }
        if let last = self.chunks.indices.last,
            self.chunks[last].readableBytes + buffer.readableBytes <= TLSSession.recordBytes
        {
            self.chunks[last].writeImmutableBuffer(buffer)
        } else {
            self.chunks.append(buffer)
        }
    }

    /// Encrypts all plaintext and forgets it. The promises stay: see ``takePromise()``.
    mutating func encrypt(with session: TLSSession) -> TLSError? {
        defer { self.chunks.removeAll(keepingCapacity: true) }
        for chunk in self.chunks {
            if let error = chunk.withUnsafeReadableBytes({ session.write($0) }) { return error }
        }
        return nil
    }

    /// One promise that fulfils those of all writes so far; `nil` if there is none.
    mutating func takePromise() -> EventLoopPromise<Void>? {
        guard let first = self.promises.first else { return nil }
        for promise in self.promises.dropFirst() {
            first.futureResult.cascade(to: promise)
        }
        self.promises.removeAll(keepingCapacity: true)
        return first
    }

    /// Forgets all plaintext and fails the promises.
    mutating func fail(_ error: any Error) {
        self.chunks.removeAll()
        self.takePromise()?.fail(error)
    }
}
