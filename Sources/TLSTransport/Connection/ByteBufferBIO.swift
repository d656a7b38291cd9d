import COpenSSL
import NIOCore

/// The OpenSSL stream whose two ends are the buffers of a ``TLSSession``.
///
/// The callbacks run inside a call of the session, on its event loop. The stream holds its session unretained: the
/// session owns the `SSL`, which owns the stream.
enum ByteBufferBIO {
    /// A new stream, owned by the caller until it is handed to `SSL_set_bio`.
    static func make(for session: TLSSession) -> OpaquePointer {
        guard let bio = BIO_new(Self.method.pointer) else { preconditionFailure("out of memory") }
        BIO_set_data(bio, Unmanaged.passUnretained(session).toOpaque())
        BIO_set_init(bio, 1)
        return bio
    }

    /// Made once, never freed. Sendable because it never changes afterwards.
    private struct Method: @unchecked Sendable {
        let pointer: OpaquePointer
    }

    private static let method: Method = {
        guard let method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "byte buffer") else {
            preconditionFailure("out of memory")
        }
        BIO_meth_set_read(method) { bio, target, count in
            ByteBufferBIO.read(bio, target, count)
        }
        BIO_meth_set_write(method) { bio, source, count in
            ByteBufferBIO.write(bio, source, count)
        }
        BIO_meth_set_ctrl(method) { _, command, _, _ in
            // Flushing is the channel's business; everything else (kernel TLS, datagram settings …) is not supported.
            command == BIO_CTRL_FLUSH ? 1 : 0
        }
        return Method(pointer: method)
    }()

    private static func session(of bio: OpaquePointer?) -> TLSSession? {
        BIO_get_data(bio).map { Unmanaged<TLSSession>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Never reports an end of the stream, only "try again later": the channel reports the end.
    private static func read(_ bio: OpaquePointer?, _ target: UnsafeMutablePointer<CChar>?, _ count: Int32) -> Int32 {
        belfry_BIO_clear_retry_flags(bio)
        guard let target, let session = Self.session(of: bio) else { return 0 }
        let taken = min(Int(count), session.incoming.readableBytes)
        guard taken > 0 else {
            belfry_BIO_set_retry_read(bio)
            return -1
        }
        session.incoming.readWithUnsafeReadableBytes { source in
            let source = UnsafeRawBufferPointer(rebasing: source[..<taken])
            UnsafeMutableRawBufferPointer(start: target, count: taken).copyMemory(from: source)
            return taken
        }
        return Int32(taken)
    }

    private static func write(_ bio: OpaquePointer?, _ source: UnsafePointer<CChar>?, _ count: Int32) -> Int32 {
        belfry_BIO_clear_retry_flags(bio)
        guard let source, let session = Self.session(of: bio) else { return 0 }
        session.outgoing.writeBytes(UnsafeRawBufferPointer(start: source, count: Int(count)))
        return count
    }
}
