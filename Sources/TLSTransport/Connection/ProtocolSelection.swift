import COpenSSL

/// A server's choice among the protocols that a client offers by ALPN (RFC 7301).
///
/// Immutable: any thread's handshake may ask it.
final class ProtocolSelection: @unchecked Sendable {
    /// The server's protocols in the form of the extension: a length byte before each name. OpenSSL's answer points
    /// into it, so it must outlive every handshake.
    private let list: UnsafeMutableBufferPointer<UInt8>
    /// A client with other protocols only is refused; otherwise the connection has no protocol.
    private let refusesOthers: Bool

    init(_ protocols: [String], refusesOthers: Bool) {
        let bytes = Self.wireForm(of: protocols)
        list = .allocate(capacity: bytes.count)
        _ = list.initialize(from: bytes)
        self.refusesOthers = refusesOthers
    }

    deinit {
        list.deallocate()
    }

    static func wireForm(of protocols: [String]) -> [UInt8] {
        protocols.flatMap { name in
            precondition((1...255).contains(name.utf8.count), "the name of a protocol has 1 to 255 bytes")
            return [UInt8(name.utf8.count)] + name.utf8
        }
    }

    /// Lets OpenSSL ask this object, which must outlive the context and its connections.
    func install(in context: OpaquePointer) {
        // Called inside of `SSL_do_handshake`, on its thread, and only if the client offers protocols.
        SSL_CTX_set_alpn_select_cb(
            context,
            { _, chosen, chosenCount, offered, offeredCount, selection in
                guard let chosen, let selection else { return SSL_TLSEXT_ERR_ALERT_FATAL }
                return Unmanaged<ProtocolSelection>.fromOpaque(selection).takeUnretainedValue()
                    .choose(into: chosen, chosenCount, offered, offeredCount)
            },
            Unmanaged.passUnretained(self).toOpaque()
        )
    }

    private func choose(
        into chosen: UnsafeMutablePointer<UnsafePointer<UInt8>?>,
        _ chosenCount: UnsafeMutablePointer<UInt8>?,
        _ offered: UnsafePointer<UInt8>?,
        _ offeredCount: UInt32
    ) -> Int32 {
        var match: UnsafeMutablePointer<UInt8>?
        let result = SSL_select_next_proto(
            &match,
            chosenCount,
            list.baseAddress,
            UInt32(list.count),
            offered,
            offeredCount
        )
        guard result == OPENSSL_NPN_NEGOTIATED else {
            return refusesOthers ? SSL_TLSEXT_ERR_ALERT_FATAL : SSL_TLSEXT_ERR_NOACK
        }
        chosen.pointee = UnsafePointer(match)
        return SSL_TLSEXT_ERR_OK
    }
}
