import Glibc

extension DevelopmentPKI {
    /// Puts certificates of this directory on its revocation list, or takes them off; a server that follows the list
    /// acts on it at its next connection.
    ///
    /// What is revoked already keeps its date, and what is not there to be taken off is not missed. The file is
    /// replaced at once, never half written. Not made for two processes at a time in one directory.
    ///
    /// - Parameters:
    ///   - bundleIDs: whose certificates; the files that ``pemFile(bundleID:)`` names.
    ///   - isUndone: take them off instead.
    ///   - now: UNIX seconds UTC, the date of what is revoked.
    /// - Throws: ``TLSConfigurationError`` naming the file, before anything is written; `unwritable`.
    public func revoke(
        bundleIDs: [String],
        isUndone: Bool = false,
        now: Int64 = Int64(time(nil))
    ) throws(TLSConfigurationError) {
        let authority = CertificateAuthority(root: try TLSIdentity(pemFile: self.authorityKeyFile))
        var serials: Set<String> = []
        for bundleID in bundleIDs {
            guard CertificateAuthority.isBundleID(bundleID) else {
                throw TLSConfigurationError(.invalidName(bundleID))
            }
            serials.insert(try TLSIdentity(pemFile: self.pemFile(bundleID: bundleID)).certificate.serialHex)
        }
        let old: RevocationList? =
            if FileAccess.exists(self.revocationFile) {
                try RevocationList(pemFile: self.revocationFile, issuedBy: .file(self.authorityFile))
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
        // Numbers only have to grow; nobody makes so many lists by hand that they end.
        let new = try authority.issueRevocationList(of: entries, number: (old?.number ?? 0) &+ 1)
        try FileAccess.write(new.pem(), to: self.revocationFile, mode: 0o644)
    }
}
