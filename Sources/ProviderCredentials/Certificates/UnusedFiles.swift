import TLSTransport

/// Judges the files of a directory that give no certificate with its key, by those that do.
struct UnusedFiles {
    typealias PassedOver = CertificateDirectory.PassedOver

    /// Of files in which certificates or keys lie alone.
    private static let endings: Set<String> = ["pem", "cer", "crt", "cert", "der", "key"]
    private static let passphraseEnding = "passphrase"

    /// The certificates that can be used.
    let entries: [CertificateDirectory.Entry]

    /// Judges a certificate that needs a passphrase and has none.
    func judge(locked source: CredentialSource) -> PassedOver {
        let reason = "its passphrase is missing: \(CredentialFiles.name(of: source.passphraseFile))"
        // The same certificate often lies beside it as PEM, which needs no passphrase.
        guard let other = entry(withStem: source.stem) else {
            return PassedOver(file: source.file, reason: reason, kind: .missed)
        }
        return PassedOver(file: source.file, reason: "\(reason); \(other) is used", kind: .spare)
    }

    /// Judges any other file.
    ///
    /// - Parameter names: of all files of its directory.
    /// - Throws: the fault of a file that seems to hold a certificate and does not.
    func judge(
        _ name: String,
        in directory: String,
        beside names: [String]
    ) throws(CertificateDirectoryError) -> PassedOver {
        let file = "\(directory)/\(name)"
        if let use = Self.use(of: name, in: directory, beside: names) {
            return PassedOver(file: file, reason: use, kind: .other)
        }
        let bytes = try CredentialFiles.bytes(of: file)
        let text = PEMText(bytes)
        let found: CertificateInfo?
        do throws(TLSConfigurationError) {
            found = try CertificateInfo.first(in: bytes)
        } catch {
            throw CertificateDirectoryError(error, of: file)
        }
        guard let certificate = found else { return try judge(file, withoutCertificate: text) }
        guard let topic = certificate.topic else {
            let reason = text.hasKey ? "its certificate names no topic" : "holds no private key"
            return PassedOver(file: file, reason: reason, kind: .other)
        }
        if let used = entries.first(where: { $0.identity.certificate == certificate }) {
            let reason = "its certificate is that of \(CredentialFiles.name(of: used.file)), which is used"
            return PassedOver(file: file, reason: reason, kind: .other)
        }
        let fault =
            text.hasKey
            ? "holds certificate and key of \(topic), but its name is none that is read: rename it to "
                + "\(CredentialFiles.stem(of: name)).pem"
            : "the certificate of \(topic) lacks its private key: \(Self.cure(of: name))"
        return PassedOver(file: file, reason: fault, kind: .missed)
    }

    private func judge(
        _ file: String,
        withoutCertificate text: PEMText
    ) throws(CertificateDirectoryError) -> PassedOver {
        guard text.hasKey else {
            guard text.hasBlock || Self.ending(of: file) == "key" else {
                throw CertificateDirectoryError(TLSConfigurationError(.noCertificate), of: file)
            }
            return PassedOver(file: file, reason: "holds no private key", kind: .other)
        }
        if let used = entry(withStem: CredentialFiles.stem(of: file)) {
            return PassedOver(file: file, reason: "holds a private key alone; \(used) is used", kind: .other)
        }
        let cure = Self.cure(of: CredentialFiles.name(of: file))
        return PassedOver(file: file, reason: "the private key lacks its certificate: \(cure)", kind: .missed)
    }

    /// The name of a used file that differs in its ending alone.
    private func entry(withStem stem: String) -> String? {
        entries.first { CredentialFiles.stem(of: $0.file) == stem }.map { CredentialFiles.name(of: $0.file) }
    }

    /// The way to bring certificate and key together.
    private static func cure(of name: String) -> String {
        guard CredentialSource.pairNames.contains(name) else {
            return "put both into one .pem file, or export both together as .p12"
        }
        return "put \(CredentialSource.pairNames.filter { $0 != name }.joined()) beside it"
    }

    /// The use of a file that holds no certificate, by its name; nil: it may hold one.
    private static func use(of name: String, in directory: String, beside names: [String]) -> String? {
        let stem = CredentialFiles.stem(of: name)
        if ending(of: name) == passphraseEnding {
            let sources = names.filter { other in
                CredentialFiles.stem(of: other) == stem && CredentialSource(other, in: directory, beside: names) != nil
            }
            return sources.first.map { "the passphrase of \($0)" }
                ?? "there is no \(stem).p12 or \(stem).pem to open with it"
        }
        if name == CredentialSource.pairNames[1], names.contains(CredentialSource.pairNames[0]) {
            return "the key of \(CredentialSource.pairNames[0])"
        }
        return endings.contains(ending(of: name)) ? nil : "neither a .pem nor a .p12 file"
    }

    /// In small letters, without the full stop; of a name without ending the name itself.
    private static func ending(of name: String) -> String {
        (name.split(separator: ".").last.map(String.init) ?? "").lowercased()
    }
}
