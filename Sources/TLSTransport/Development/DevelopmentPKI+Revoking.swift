import Glibc

extension DevelopmentPKI {
    /// Puts certificates of this directory on its revocation list, or takes them off. A server that follows the list
    /// acts on it at its next connection.
    ///
    /// A certificate that is already revoked keeps its date, and taking off one that is not listed is no error. The
    /// file is replaced at once, never half written. Not made for two processes at a time in one directory.
    ///
    /// - Parameters:
    ///   - bundleIDs: the certificates' bundle IDs; the files are those that ``pemFile(bundleID:)`` names.
    ///   - isUndone: take them off instead.
    ///   - now: UNIX seconds UTC, the date of the revocation.
    /// - Throws: ``TLSConfigurationError`` naming the file, before anything is written; `unwritable`.
    public func revoke(
        bundleIDs: [String],
        isUndone: Bool = false,
        now: Int64 = Int64(time(nil))
    ) throws(TLSConfigurationError) {
        let authority = CertificateAuthority(root: try TLSIdentity(pemFile: authorityKeyFile))
        var serials: Set<String> = []
        for bundleID in bundleIDs {
            guard CertificateAuthority.isBundleID(bundleID) else {
                throw TLSConfigurationError(.invalidName(bundleID))
            }
            serials.insert(try TLSIdentity(pemFile: pemFile(bundleID: bundleID)).certificate.serialHex)
        }
        let old: RevocationList? =
            if FileAccess.exists(revocationFile) {
                try RevocationList(pemFile: revocationFile, issuedBy: .file(authorityFile))
            } else {
                nil
            }
        var entries = old?.entries ?? []
        if isUndone {
            entries.removeAll { serials.contains($0.serialHex) }
        } else {
            serials.subtract(entries.map(\.serialHex))
            entries += serials.sorted().map { RevocationList.Entry(serialHex: $0, revokedAt: now) }
        }
        // Numbers only have to grow; lists made by hand never use them up.
        let new = try authority.issueRevocationList(of: entries, number: (old?.number ?? 0) &+ 1)
        try FileAccess.write(new.pem(), to: revocationFile, mode: 0o644)
    }
}
