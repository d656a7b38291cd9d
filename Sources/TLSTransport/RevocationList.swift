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

extension CertificateAuthority {
    /// Signs a list of revoked certificates.
    ///
    /// - Parameters:
    ///   - entries: the same serial number only once.
    ///   - number: higher than that of the list before (RFC 5280 §5.2.3).
    ///   - validity: the list's date, and the latest date of the next one, UNIX seconds UTC; `nil`: ten years from now.
    /// - Throws: `invalidName` for a serial number that is not hexadecimal.
    public func issueRevocationList(
        of entries: [RevocationList.Entry],
        number: UInt64,
        validity: ClosedRange<Int64>? = nil
    ) throws(TLSConfigurationError) -> RevocationList {
        OpenSSLError.clearQueue()
        guard let pointer = X509_CRL_new() else { throw .fromQueue("no revocation list can be made") }
        let handle = RevocationListHandle(owning: pointer)
        for entry in entries {
            guard Self.add(entry, to: handle.pointer) else {
                OpenSSLError.clearQueue()
                throw TLSConfigurationError(.invalidName(entry.serialHex))
            }
        }
        let validity = validity ?? Self.defaultValidity()
        guard
            X509_CRL_set_version(pointer, 1) == 1,
            X509_CRL_set_issuer_name(pointer, X509_get_subject_name(root.leaf.pointer)) == 1,
            Self.setDates(of: pointer, validity),
            belfry_X509_CRL_add_extension(
                pointer,
                root.leaf.pointer,
                NID_authority_key_identifier,
                "keyid:always"
            ) == 1,
            Self.setNumber(of: pointer, number),
            X509_CRL_sort(pointer) == 1,
            X509_CRL_sign(pointer, root.key.pointer, EVP_sha256()) > 0
        else { throw .fromQueue("the revocation list cannot be signed") }
        // The value takes a reference of its own.
        X509_CRL_up_ref(pointer)
        return RevocationList(owning: pointer)
    }

    private static func add(_ entry: RevocationList.Entry, to list: OpaquePointer) -> Bool {
        var number: OpaquePointer?
        // Reads as far as there are digits, and returns their number.
        let digits = BN_hex2bn(&number, entry.serialHex)
        defer { BN_free(number) }
        guard digits > 0, Int(digits) == entry.serialHex.utf8.count, let revoked = X509_REVOKED_new() else {
            return false
        }
        let serial = BN_to_ASN1_INTEGER(number, nil)
        let date = ASN1_TIME_set(nil, Int(entry.revokedAt))
        defer {
            ASN1_INTEGER_free(serial)
            ASN1_TIME_free(date)
        }
        guard
            X509_REVOKED_set_serialNumber(revoked, serial) == 1,
            X509_REVOKED_set_revocationDate(revoked, date) == 1,
            // Takes the entry over, unless it fails.
            X509_CRL_add0_revoked(list, revoked) == 1
        else {
            X509_REVOKED_free(revoked)
            return false
        }
        return true
    }

    private static func setDates(of list: OpaquePointer, _ validity: ClosedRange<Int64>) -> Bool {
        let (date, due) = (ASN1_TIME_set(nil, Int(validity.lowerBound)), ASN1_TIME_set(nil, Int(validity.upperBound)))
        defer {
            ASN1_TIME_free(date)
            ASN1_TIME_free(due)
        }
        return X509_CRL_set1_lastUpdate(list, date) == 1 && X509_CRL_set1_nextUpdate(list, due) == 1
    }

    private static func setNumber(of list: OpaquePointer, _ number: UInt64) -> Bool {
        let integer = ASN1_INTEGER_new()
        defer { ASN1_INTEGER_free(integer) }
        return ASN1_INTEGER_set_uint64(integer, number) == 1
            && X509_CRL_add1_ext_i2d(list, NID_crl_number, integer, 0, 0) == 1
    }
}
