import COpenSSL
import Glibc

/// The certificates that an authority has revoked (RFC 5280 §5). "The gateway keeps a revocation list and refuses
/// revoked certificates" [13].
///
/// Immutable and cheap to copy; any thread may use it. A changed list is a new value, for a new ``TLSContext``.
public struct RevocationList: Sendable {
    /// One certificate of the authority.
    public struct Entry: Hashable, Sendable {
        /// The serial number, in the form of ``CertificateInfo/serialHex``.
        public let serialHex: String
        /// The date of revocation, UNIX seconds UTC.
        public let revokedAt: Int64

        /// Any values are possible; ``CertificateAuthority/issueRevocationList(of:number:validity:)`` checks them.
        public init(serialHex: String, revokedAt: Int64) {
            self.serialHex = serialHex
            self.revokedAt = revokedAt
        }
    }

    let handle: RevocationListHandle

    /// Entries in the order of their serial numbers.
    public let entries: [Entry]

    /// Number of the list among those of its authority (RFC 5280 §5.2.3); 0 if the list has none.
    public let number: UInt64

    var pointer: OpaquePointer { handle.pointer }

    init(owning pointer: OpaquePointer) {
        handle = RevocationListHandle(owning: pointer)
        // Sorts as well; a list without entries has no stack.
        X509_CRL_sort(pointer)
        let stack = X509_CRL_get_REVOKED(pointer)
        entries = (0..<max(0, belfry_X509_REVOKED_stack_count(stack))).map { index in
            let revoked = belfry_X509_REVOKED_stack_value(stack, index)
            return Entry(
                serialHex: CertificateInfo.hex(of: X509_REVOKED_get0_serialNumber(revoked)),
                revokedAt: CertificateInfo.seconds(X509_REVOKED_get0_revocationDate(revoked))
            )
        }
        number = Self.readNumber(pointer)
    }

    /// Reads PEM: exactly one list, signed by one of the roots.
    ///
    /// - Parameter trust: not the system's roots, which cannot be read.
    /// - Throws: `noRevocationList`, `rejected` for a damaged list or more than one, `foreignRevocationList`.
    public init(pem: [UInt8], issuedBy trust: TLSTrust) throws(TLSConfigurationError) {
        guard let roots = try trust.loadRoots() else { preconditionFailure("the system's roots issue no list of ours") }
        let lists = try PEM.revocationLists(in: pem)
        guard let list = lists.first else { throw TLSConfigurationError(.noRevocationList) }
        guard lists.count == 1 else {
            throw TLSConfigurationError(.rejected("holds \(lists.count) revocation lists, one is expected"))
        }
        OpenSSLError.clearQueue()
        let isGenuine = roots.contains { root in
            X509_NAME_cmp(X509_CRL_get_issuer(list.pointer), X509_get_subject_name(root.pointer)) == 0
                && X509_CRL_verify(list.pointer, X509_get0_pubkey(root.pointer)) == 1
        }
        guard isGenuine else {
            throw TLSConfigurationError(.foreignRevocationList, openSSLErrors: OpenSSLError.drainQueue().map(\.text))
        }
        self = list
    }

    /// Reads a PEM file, see ``init(pem:issuedBy:)``.
    ///
    /// - Throws: ``TLSConfigurationError`` with the file's name, also `unreadable`.
    public init(pemFile path: String, issuedBy trust: TLSTrust) throws(TLSConfigurationError) {
        let bytes = try FileAccess.read(path)
        do {
            try self.init(pem: bytes, issuedBy: trust)
        } catch {
            throw error.file == nil ? error.inFile(path) : error
        }
    }

    /// The list as PEM.
    public func pem() throws(TLSConfigurationError) -> [UInt8] {
        OpenSSLError.clearQueue()
        let output = MemoryBIO()
        guard PEM_write_bio_X509_CRL(output.pointer, pointer) == 1 else {
            throw .fromQueue("the revocation list cannot be written as PEM")
        }
        return output.bytes
    }

    private static func readNumber(_ pointer: OpaquePointer) -> UInt64 {
        guard let number = X509_CRL_get_ext_d2i(pointer, NID_crl_number, nil, nil) else { return 0 }
        let integer = number.assumingMemoryBound(to: ASN1_INTEGER.self)
        defer { ASN1_INTEGER_free(integer) }
        var value: UInt64 = 0
        return ASN1_INTEGER_get_uint64(&value, integer) == 1 ? value : 0
    }
}
