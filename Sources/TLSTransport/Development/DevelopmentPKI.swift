import COpenSSL

/// A directory of certificates and keys for a push service of one's own.
///
/// | file | holds | mode |
/// |---|---|---|
/// | `ca.pem` | the root certificate, trusted by clients and gateways | 0644 |
/// | `ca.key` | the root certificate with its key | 0600 |
/// | `server.pem` | the service's certificate and key | 0600 |
/// | `<bundle>.pem`, `<bundle>.p12` | a provider's certificate and key; passphrase ``passphrase`` | 0600 |
/// | `device-<i>.pem` | a virtual device's certificate and key, where one was asked for | 0600 |
/// | `token.key` | the token key: 64 hex digits | 0600 |
/// | `keys/AuthKey_<key id>.p8` | a key that signs provider tokens; of further teams in `keys/<team>/` | 0600 |
/// | `AuthKey_<key id>.p8` | a copy of it, of the first team's keys alone | 0600 |
/// | `crl.pem` | the revocation list, once something was revoked | 0644 |
///
/// Development and production share the authority and the server, and nothing else: certificates and token key of
/// production are `<bundle>.production.pem`, `<bundle>.production.p12` and `token.production.key`.
public struct DevelopmentPKI: Sendable, Equatable {
    /// Opens every `.p12` of the directory.
    public static let passphrase = "belfry"

    /// The directory as given; paths are made by appending to it.
    public let directory: String

    /// The environments of the named certificates and token key. Those of production alone have file names of their
    /// own.
    public let environments: CertificateInfo.Environments

    /// Names a directory; nothing is read.
    public init(directory: String, environments: CertificateInfo.Environments = .development) {
        self.directory = directory
        self.environments = environments
    }

    public var authorityFile: String { path("ca.pem") }
    public var authorityKeyFile: String { path("ca.key") }
    public var serverFile: String { path("server.pem") }
    public var revocationFile: String { path("crl.pem") }
    public var tokenKeyFile: String { path("token\(infix).key") }

    /// The directory of the keys that sign provider tokens.
    public var keysDirectory: String { path("keys") }
    /// The list of those keys, with their public halves: written and read by the push service.
    public var keyListFile: String { path("keys.json") }

    /// - Parameter folder: of a further team, its id; nil: the first one's.
    public func providerKeyFile(_ id: String, folder: String?) -> String {
        "\(folder.map { "\(keysDirectory)/\($0)" } ?? keysDirectory)/AuthKey_\(id).p8"
    }

    /// The copy of a key of the first team, for users who look for it beside the certificates.
    public func providerKeyCopy(_ id: String) -> String { path("AuthKey_\(id).p8") }

    public func pemFile(bundleID: String) -> String { path("\(bundleID)\(infix).pem") }
    public func pkcs12File(bundleID: String) -> String { path("\(bundleID)\(infix).p12") }

    /// Reads the token key: ``TokenCipher/keyBytes`` bytes.
    ///
    /// - Throws: `unreadable` or `invalidTokenKey`, with the file's name.
    public func tokenKey() throws(TLSConfigurationError) -> [UInt8] {
        var text = try FileAccess.read(tokenKeyFile)
        if text.last == UInt8(ascii: "\n") { text.removeLast() }
        let digits = text.compactMap { Character(UnicodeScalar($0)).hexDigitValue.map(UInt8.init) }
        guard text.count == 2 * TokenCipher.keyBytes, digits.count == text.count else {
            throw TLSConfigurationError(.invalidTokenKey, file: tokenKeyFile)
        }
        return (0..<TokenCipher.keyBytes).map { digits[2 * $0] << 4 | digits[2 * $0 + 1] }
    }

    /// Part of the file names before the ending, for files that differ between environments.
    private var infix: String { environments == .production ? ".production" : "" }

    private func path(_ name: String) -> String {
        directory.hasSuffix("/") ? directory + name : "\(directory)/\(name)"
    }
}

/// Writes a development PKI, or completes one. Existing files are kept, so that running it again with more topics only
/// adds theirs. Not made for two processes at a time in one directory.
///
/// - Parameters:
///   - directory: made if it does not exist.
///   - topics: bundle IDs; each gets a certificate.
///   - environments: the environments of the providers' certificates; they decide on the names of the files, see
///     ``DevelopmentPKI``.
///   - serverNames: names of the service besides `localhost`, `127.0.0.1` and `::1`; they count only when `server.pem`
///     is written for the first time.
///   - topicSuffixes: of the topics that new certificates of providers name besides their bundle ID, `.voip` for
///     example. A topic that would be too long is left out.
/// - Throws: ``TLSConfigurationError``: `invalidName` before anything is written, `unwritable`, the fault of an
///   existing authority, or `rejected` for an existing file with another topic's or environment's certificate.
@discardableResult
public func writeDevelopmentPKI(
    directory: String,
    topics: [String],
    environments: CertificateInfo.Environments = .development,
    serverNames: [String] = [],
    topicSuffixes: [String] = []
) throws(TLSConfigurationError) -> DevelopmentPKI {
    let pki = DevelopmentPKI(directory: directory, environments: environments)
    for topic in topics {
        // "ca", "server" and "device-0" would replace those files.
        guard CertificateAuthority.isBundleID(topic), !["ca", "crl", "server"].contains(topic),
            !DeviceSubject.isCommonName(topic)
        else {
            throw TLSConfigurationError(.invalidName(topic))
        }
    }
    try FileAccess.makeDirectory(directory)

    let authority: CertificateAuthority
    if FileAccess.exists(pki.authorityKeyFile) {
        authority = CertificateAuthority(root: try TLSIdentity(pemFile: pki.authorityKeyFile))
    } else {
        authority = try CertificateAuthority()
        try authority.root.writePEM(to: pki.authorityKeyFile)
    }
    if !FileAccess.exists(pki.authorityFile) {
        try FileAccess.write(authority.rootPEM(), to: pki.authorityFile, mode: 0o644)
    }
    if !FileAccess.exists(pki.serverFile) {
        try authority.issueServer(names: serverNames).writePEM(to: pki.serverFile)
    }
    for topic in topics {
        try writeClient(topic, topicSuffixes, authority, pki)
    }
    if !FileAccess.exists(pki.tokenKeyFile) {
        try FileAccess.write(randomHexKey(), to: pki.tokenKeyFile, mode: 0o600)
    }
    return pki
}

/// Writes a provider's certificate in both forms; a missing one is made from the other.
private func writeClient(
    _ topic: String,
    _ suffixes: [String],
    _ authority: CertificateAuthority,
    _ pki: DevelopmentPKI
) throws(TLSConfigurationError) {
    let pem = pki.pemFile(bundleID: topic)
    let pkcs12 = pki.pkcs12File(bundleID: topic)
    let identity =
        if FileAccess.exists(pem) {
            try TLSIdentity(pemFile: pem)
        } else if FileAccess.exists(pkcs12) {
            try TLSIdentity(pkcs12File: pkcs12, passphrase: DevelopmentPKI.passphrase)
        } else {
            try authority.issueClient(
                bundleID: topic,
                environments: pki.environments,
                topics: suffixes.map { topic + $0 }.filter(CertificateAuthority.isBundleID)
            )
        }
    // "a.production" in development and "a" in production want the same file.
    guard identity.certificate.topic == topic, identity.certificate.environments.isSuperset(of: pki.environments) else {
        throw TLSConfigurationError(
            .rejected("is there already, with the certificate \"\(identity.certificate.commonName)\" in it"),
            file: pem
        )
    }
    if !FileAccess.exists(pem) { try identity.writePEM(to: pem) }
    if !FileAccess.exists(pkcs12) { try identity.writePKCS12(to: pkcs12, passphrase: DevelopmentPKI.passphrase) }
}

private func randomHexKey() throws(TLSConfigurationError) -> [UInt8] {
    OpenSSLError.clearQueue()
    var key = [UInt8](repeating: 0, count: TokenCipher.keyBytes)
    guard RAND_bytes(&key, Int32(key.count)) == 1 else { throw .fromQueue("no random bytes can be had") }
    let digits = Array("0123456789abcdef".utf8)
    return key.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] } + [UInt8(ascii: "\n")]
}
