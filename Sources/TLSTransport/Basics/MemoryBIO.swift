import COpenSSL

/// OpenSSL's memory stream, for its functions that read or write files: PEM and PKCS#12 in and out.
///
/// The connection does not use it (see ``TLSSession``), because it copies once more than necessary.
struct MemoryBIO: ~Copyable {
    let pointer: OpaquePointer

    /// An empty stream to write to.
    init() {
        guard let pointer = BIO_new(BIO_s_mem()) else { preconditionFailure("out of memory") }
        self.pointer = pointer
    }

    /// A stream that holds a copy of `bytes`.
    init(copying bytes: [UInt8]) {
        self.init()
        var offset = 0
        while offset < bytes.count {
            let written = bytes.withUnsafeBytes {
                BIO_write(pointer, $0.baseAddress! + offset, Int32(clamping: $0.count - offset))
            }
            guard written > 0 else { preconditionFailure("out of memory") }
            offset += Int(written)
        }
    }

    deinit {
        BIO_free(pointer)
    }

    /// The bytes written so far.
    var bytes: [UInt8] {
        var start: UnsafeMutablePointer<CChar>?
        let count = belfry_BIO_get_memory(pointer, &start)
        return [UInt8](UnsafeRawBufferPointer(start: start, count: count))
    }
}
