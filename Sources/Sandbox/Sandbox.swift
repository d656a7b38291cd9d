import APNsProtocol
import Glibc
import TLSTransport

/// The sandbox's tools that need no running server.
public enum Sandbox {
    /// Writes a development PKI for these bundle IDs: `ca.pem`, `server.pem`, `token.key`, for each of them
    /// `<bundle>.pem` (certificate and key) and `<bundle>.p12` (passphrase `belfry`), and the team's key for provider
    /// tokens, see ``writeProviderKeys(directory:topics:team:environment:withTopicKeys:report:)``.
    ///
    /// The certificates name the topics of all push types for which a certificate does.
    ///
    /// Files that exist are kept: an authority goes on signing for topics that are added. Production has token key and
    /// certificates of its own, `token.production.key` and `<bundle>.production.pem` and `.p12`, beside the others.
    ///
    /// - Parameters:
    ///   - serverNames: host names of the service besides the loopback's; they count only when `server.pem` is written
    ///     for the first time.
    ///   - team: of the topics; letters and digits, 32 at most.
    ///   - withTopicKeys: besides the team's key also one for each of the topics alone.
    /// - Returns: how many files are new.
    /// - Throws: ``SandboxSetupError`` naming the file or the bundle ID.
    @discardableResult
    public static func writeCertificates(
        directory: String,
        topics: [String],
        serverNames: [String] = [],
        environment: PushEnvironment = .development,
        team: String = defaultTeam,
        withTopicKeys: Bool = false
    ) throws(SandboxSetupError) -> CertificatesReport {
        let pki = DevelopmentPKI(directory: directory, environments: environment.ofCertificates)
        let files =
            [pki.authorityFile, pki.authorityKeyFile, pki.serverFile, pki.tokenKeyFile]
            + Set(topics).flatMap { [pki.pemFile(bundleID: $0), pki.pkcs12File(bundleID: $0)] }
        var report = CertificatesReport(directory: directory)
        for file in files { report.count(exists: fileExists(file)) }
        do {
            try writeDevelopmentPKI(
                directory: directory,
                topics: topics,
                environments: environment.ofCertificates,
                serverNames: serverNames,
                topicSuffixes: PushType.allCases.filter { !$0.needsProviderToken }.map(\.topicSuffix)
                    .filter { !$0.isEmpty }
            )
        } catch {
            throw SandboxSetupError(error)
        }
        try writeProviderKeys(
            directory: directory,
            topics: topics,
            team: team,
            environment: environment,
            withTopicKeys: withTopicKeys,
            report: &report
        )
        return report
    }

    static func fileExists(_ file: String) -> Bool {
        access(file, F_OK) == 0
    }

    /// Writes the certificates of virtual devices, `device-<i>.pem`, beside those of ``writeCertificates``; what exists
    /// is kept.
    ///
    /// - Parameter report: the files are counted in it.
    /// - Throws: ``SandboxSetupError`` naming the file.
    public static func writeDeviceCertificates(
        directory: String,
        devices: ClosedRange<UInt32>,
        report: inout CertificatesReport
    ) throws(SandboxSetupError) {
        let pki = DevelopmentPKI(directory: directory)
        for device in devices {
            report.count(exists: fileExists(pki.deviceFile(device)))
            do {
                try pki.deviceIdentity(device)
            } catch {
                throw SandboxSetupError(error, missingFrom: pki)
            }
        }
    }

    /// The tokens of a range of a topic's devices, in order: token I belongs to virtual device I.
    ///
    /// - Parameters:
    ///   - pkiDirectory: has to hold the environment's token key.
    ///   - tokenBytes: how long the tokens are, ``TokenMint/tokenLengths``.
    ///   - body: gets each token as two hexadecimal digits a byte.
    /// - Throws: ``SandboxSetupError`` when the key cannot be read, the range reaches beyond the devices a topic can
    ///   have or there are no tokens of that length, and whatever `body` throws.
    public static func forEachToken(
        pkiDirectory: String,
        topic: String,
        first: Int,
        count: Int,
        environment: PushEnvironment = .development,
        tokenBytes: Int = TokenMint.tokenBytes,
        _ body: (String) throws -> Void
    ) throws {
        let devices = SandboxLimits.devices.upperBound
        guard first >= 0, count >= 0, first <= devices, count <= devices - first else {
            throw SandboxSetupError(subject: "tokens", problem: "devices are numbered 0 to \(devices - 1)")
        }
        guard TokenMint.tokenLengths.contains(tokenBytes) else {
            throw SandboxSetupError(subject: "token-bytes", problem: TokenMint.lengthProblem(tokenBytes))
        }
        let key = try tokenKey(pkiDirectory, environment)
        let mint = TokenMint(key: key, environment: environment, topic: topic, mintedBytes: tokenBytes)
        try withUnsafeTemporaryAllocation(byteCount: tokenBytes, alignment: 8) { token in
            for device in first..<first + count {
                mint.mint(AppInstance(device: UInt32(device)), into: token)
                try body(Hex.encode(UnsafeRawBufferPointer(token)))
            }
        }
    }

    /// The bytes of a token in hexadecimal digits, or `nil` if they are none.
    public static func token(fromHex text: String) -> [UInt8]? {
        guard let bytes = try? Hex.decode(text), !bytes.isEmpty else { return nil }
        return bytes
    }

    private static func tokenKey(
        _ pkiDirectory: String,
        _ environment: PushEnvironment
    ) throws(SandboxSetupError) -> [UInt8] {
        let pki = DevelopmentPKI(directory: pkiDirectory, environments: environment.ofCertificates)
        do {
            return try pki.tokenKey()
        } catch {
            throw SandboxSetupError(error, missingFrom: pki)
        }
    }
}
