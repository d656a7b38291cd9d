import COpenSSL

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
