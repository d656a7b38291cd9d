import COpenSSL

/// Owns an `X509`.
///
/// Sendable although a pointer: the certificate does not change in here, its reference count is atomic, and OpenSSL
/// guards the little it computes lazily with a lock of its own.
///
/// The pointer is valid as long as the handle is: a user holds the handle in a variable, parameter or property, never
/// only in a temporary.
final class CertificateHandle: @unchecked Sendable {
    let pointer: OpaquePointer

    /// Takes over the caller's reference.
    init(owning pointer: OpaquePointer) {
        self.pointer = pointer
    }

    deinit {
        X509_free(pointer)
    }
}

/// Owns an `EVP_PKEY`: a private key, or the public half of one.
///
/// Sendable for the reasons given at ``CertificateHandle``.
final class PrivateKeyHandle: @unchecked Sendable {
    let pointer: OpaquePointer

    /// Takes over the caller's reference.
    init(owning pointer: OpaquePointer) {
        self.pointer = pointer
    }

    deinit {
        EVP_PKEY_free(pointer)
    }
}

/// Owns an `X509_CRL`. Sendable for the reasons given at ``CertificateHandle``.
final class RevocationListHandle: @unchecked Sendable {
    let pointer: OpaquePointer

    /// Takes over the caller's reference.
    init(owning pointer: OpaquePointer) {
        self.pointer = pointer
    }

    deinit {
        X509_CRL_free(pointer)
    }
}
