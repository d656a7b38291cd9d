import TLSTransport

extension Sandbox {
    /// Revokes the certificates of these bundle IDs, or takes that back: in `crl.pem` of the directory, which a running
    /// sandbox notices at its next connection.
    ///
    /// - Parameter isUndone: take it back.
    /// - Throws: ``SandboxSetupError`` naming the file or the bundle ID; nothing is changed then.
    @discardableResult
    public static func revoke(
        pkiDirectory: String,
        topics: [String],
        environment: PushEnvironment = .development,
        isUndone: Bool = false
    ) throws(SandboxSetupError) -> RevocationReport {
        let pki = DevelopmentPKI(directory: pkiDirectory, environments: environment.ofCertificates)
        do {
            try pki.revoke(bundleIDs: topics, isUndone: isUndone)
        } catch {
            throw SandboxSetupError(error, missingFrom: pki)
        }
        return RevocationReport(
            topics: topics,
            environment: "\(environment)",
            file: pki.revocationFile,
            revoked: !isUndone
        )
    }
}
