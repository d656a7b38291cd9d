import COpenSSL
import NIOCore

/// One TLS connection without a socket: ciphertext and plaintext in and out, nothing else.
///
/// OpenSSL reads from and appends to two `ByteBuffer`s through a stream method of our own (``ByteBufferBIO``), so that
/// a record is copied once on its way. Belongs to one event loop. No call fires into the channel: the session's user
/// acts on the results, outside of OpenSSL's stack.
final class TLSSession {
    enum HandshakeStep {
        case needsInput
        case completed
        case failed(TLSError)
    }

    enum ReadStep {
        /// Everything fed was read.
        case needsInput
        /// The peer sent close_notify: it will send nothing more.
        case closeNotify
        case failed(TLSError)
    }

    /// The most plaintext in one record (RFC 8446 §5.1).
    static let recordBytes = 16 << 10
    /// More than any cipher suite adds to a record: header, explicit nonce, content type, tag, padding.
    private static let recordOverheadBytes = 64
    /// An empty buffer of more than this is freed rather than kept for the next flush.
    private static let keptCapacityBytes = 512 << 10

    private let ssl: OpaquePointer
    /// Held because OpenSSL's callbacks use objects of the context.
    private let context: TLSContext
    private let serverName: String?

    /// Ciphertext of the peer that OpenSSL has not read yet. Empty between calls: OpenSSL always reads all.
    var incoming = ByteBuffer()
    /// Ciphertext that has not been taken yet.
    var outgoing = ByteBuffer()

    /// - Parameter serverName: the name that a client requests and validates: a DNS name, or an IP address as text.
    ///   `nil` on a server.
    /// - Throws: ``TLSError/peerNotTrusted(reason:serverName:openSSLErrors:)`` for a name that no certificate can have.
    init(context: TLSContext, serverName: String?) throws(TLSError) {
        OpenSSLError.clearQueue()
        guard let ssl = SSL_new(context.pointer) else { preconditionFailure("out of memory") }
        self.ssl = ssl
        self.context = context
        self.serverName = serverName
        let bio = ByteBufferBIO.make(for: self)
        // One stream for both directions: the session owns it from here on.
        SSL_set_bio(ssl, bio, bio)
        switch context.role {
        case .server:
            SSL_set_accept_state(ssl)
        case .client:
            SSL_set_connect_state(ssl)
            guard let serverName, Self.expect(serverName, of: ssl) else {
                let errors = OpenSSLError.drainQueue().map(\.text)
                throw .peerNotTrusted(reason: "not a host name", serverName: serverName, openSSLErrors: errors)
            }
        }
    }

    deinit {
        SSL_free(ssl)
    }

    /// Sets the expected name of the peer's certificate, and requests it (SNI, RFC 6066 §3: no IP addresses).
    private static func expect(_ serverName: String, of ssl: OpaquePointer) -> Bool {
        // A C string ends at NUL: the checked name would differ from the intended one.
        guard !serverName.isEmpty, serverName.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else { return false }
        let parameters = SSL_get0_param(ssl)
        if X509_VERIFY_PARAM_set1_ip_asc(parameters, serverName) == 1 { return true }
        OpenSSLError.clearQueue()
        // The root's dot is never part of a certificate's name.
        let name = serverName.hasSuffix(".") ? String(serverName.dropLast()) : serverName
        X509_VERIFY_PARAM_set_hostflags(parameters, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS))
        return X509_VERIFY_PARAM_set1_host(parameters, name, name.utf8.count) == 1
            && belfry_SSL_set_server_name(ssl, name) == 1
    }
}

// MARK: Input

extension TLSSession {
    /// Takes ciphertext of the peer, for ``handshake()`` or ``read(into:)``.
    func feed(_ ciphertext: ByteBuffer) {
        if incoming.readableBytes == 0 {
            incoming = ciphertext
        } else {
            incoming.writeImmutableBuffer(ciphertext)
        }
    }

    func handshake() -> HandshakeStep {
        OpenSSLError.clearQueue()
        let result = SSL_do_handshake(ssl)
        releaseIncoming()
        if result == 1 { return .completed }
        switch SSL_get_error(ssl, result) {
        case SSL_ERROR_WANT_READ:
            return .needsInput
        case SSL_ERROR_ZERO_RETURN:
            return .failed(.closedDuringHandshake(cause: "the peer sent close_notify"))
        default:
            return .failed(takeError())
        }
    }

    /// Decrypts everything fed and appends it to `plaintext`, also the part before a close or a failure.
    func read(into plaintext: inout ByteBuffer) -> ReadStep {
        OpenSSLError.clearQueue()
        defer { releaseIncoming() }
        while true {
            if plaintext.writableBytes == 0 {
                // Decrypting never grows the data: at first there is as much as was fed, later a record's worth.
                plaintext.reserveCapacity(
                    minimumWritableBytes: max(incoming.readableBytes, Self.recordBytes)
                )
            }
            var result: Int32 = 0
            plaintext.writeWithUnsafeMutableBytes(minimumWritableBytes: 1) { target in
                var count = 0
                result = SSL_read_ex(ssl, target.baseAddress, target.count, &count)
                return result == 1 ? count : 0
            }
            if result == 1 { continue }
            switch SSL_get_error(ssl, result) {
            case SSL_ERROR_WANT_READ:
                return .needsInput
            case SSL_ERROR_ZERO_RETURN:
                return .closeNotify
            default:
                return .failed(takeError())
            }
        }
    }

    /// Releases the reader's buffer, so that the channel can reuse its memory for the next read.
    private func releaseIncoming() {
        if incoming.readableBytes == 0 {
            incoming = ByteBuffer()
        }
    }

    private func takeError() -> TLSError {
        TLSError(
            queue: OpenSSLError.drainQueue(),
            verifyResult: SSL_get_verify_result(ssl),
            serverName: serverName
        )
    }
}

// MARK: Output

extension TLSSession {
    /// Encrypts all of `plaintext` into ``outgoing``, as whole records if it is big. Only after the handshake.
    ///
    /// Never partial: the stream takes everything, and without renegotiation no write waits for a read.
    func write(_ plaintext: UnsafeRawBufferPointer) -> TLSError? {
        guard let bytes = plaintext.baseAddress, plaintext.count > 0 else { return nil }
        OpenSSLError.clearQueue()
        let records = (plaintext.count + Self.recordBytes - 1) / Self.recordBytes
        outgoing.reserveCapacity(minimumWritableBytes: plaintext.count + records * Self.recordOverheadBytes)
        var written = 0
        guard SSL_write_ex(ssl, bytes, plaintext.count, &written) == 1 else { return takeError() }
        assert(written == plaintext.count, "partial writes are not enabled")
        return nil
    }

    /// Puts a close_notify alert into ``outgoing``, once. Reading goes on.
    func closeNotify() {
        OpenSSLError.clearQueue()
        // 0: the peer's close_notify is still to come, and `read` will find it; a failure is the end anyway.
        _ = SSL_shutdown(ssl)
        OpenSSLError.clearQueue()
    }

    /// Moves the ciphertext out. Give the buffer back with ``recycle(_:)`` once it is written.
    func takeOutgoing() -> ByteBuffer? {
        guard outgoing.readableBytes > 0 else { return nil }
        let buffer = outgoing
        outgoing = ByteBuffer()
        return buffer
    }

    /// Keeps the memory of a written buffer for the next flush, unless it is still held elsewhere or big.
    func recycle(_ buffer: consuming ByteBuffer) {
        guard outgoing.capacity == 0, buffer.capacity <= Self.keptCapacityBytes else { return }
        outgoing = consume buffer
        // Allocates anew when the socket has not taken all of it.
        outgoing.clear()
    }
}

// MARK: Memory

extension TLSSession {
    /// Frees the buffers of OpenSSL and of the output, unless something is in them. The next use makes them anew.
    ///
    /// - Returns: OpenSSL had nothing in its buffers, so that they are freed.
    func rest() -> Bool {
        if outgoing.readableBytes == 0 { outgoing = ByteBuffer() }
        return SSL_free_buffers(ssl) == 1
    }
}

// MARK: Negotiated parameters

extension TLSSession {
    /// The version agreed on, e.g. `TLSv1.3`.
    var version: String {
        SSL_get_version(ssl).map { String(cString: $0) } ?? "unknown"
    }

    /// The cipher agreed on, e.g. `TLS_AES_256_GCM_SHA384`.
    var cipher: String {
        SSL_CIPHER_get_name(SSL_get_current_cipher(ssl)).map { String(cString: $0) } ?? "unknown"
    }

    /// The protocol agreed on by ALPN; `nil` if there is none.
    var applicationProtocol: String? {
        var name: UnsafePointer<UInt8>?
        var count: UInt32 = 0
        SSL_get0_alpn_selected(ssl, &name, &count)
        guard count > 0 else { return nil }
        return String(decoding: UnsafeBufferPointer(start: name, count: Int(count)), as: UTF8.self)
    }

    var peer: CertificateInfo? {
        SSL_get0_peer_certificate(ssl).map(CertificateInfo.init(x509:))
    }
}
