import Foundation
import TLSTransport

/// The files of one certificate with its key, found by their names. Capitals in endings make no difference.
///
/// A passphrase lies beside them in `<name>.passphrase`, and counts only where they cannot be opened without.
struct CredentialSource: Sendable {
    private enum Form {
        /// One PEM file.
        case pem
        /// A PKCS#12 container.
        case container
        /// PEM in two files, `tls.crt` and `tls.key`, as Kubernetes and cert-manager write them.
        case pair
    }

    /// The two files of a pair.
    static let pairNames = ["tls.crt", "tls.key"]

    /// The file by which the credential is told: the one with the certificate.
    let file: String
    private let form: Form

    /// - Parameters:
    ///   - name: of a file of the directory; nil is returned if it is not that of a certificate with its key.
    ///   - names: of all files of the directory.
    init?(_ name: String, in directory: String, beside names: [String]) {
        let lowercased = name.lowercased()
        if lowercased.hasSuffix(".pem") {
            form = .pem
        } else if lowercased.hasSuffix(".p12") || lowercased.hasSuffix(".pfx") {
            form = .container
        } else if name == Self.pairNames[0], names.contains(Self.pairNames[1]) {
            form = .pair
        } else {
            return nil
        }
        file = "\(directory)/\(name)"
    }

    var isContainer: Bool { form == .container }
    /// The path up to the ending.
    var stem: String { CredentialFiles.stem(of: file) }
    /// The file with the key.
    var keyFile: String { form == .pair ? "\(stem).key" : file }
    var passphraseFile: String { "\(stem).passphrase" }

    /// Reads certificate and key.
    func bytes() throws(CertificateDirectoryError) -> [UInt8] {
        let bytes = try CredentialFiles.bytes(of: file)
        guard form == .pair else { return bytes }
        let key = try CredentialFiles.bytes(of: keyFile)
        return bytes + [UInt8(ascii: "\n")] + key
    }

    /// Reads the passphrase's file; nil: there is none.
    func passphrase() -> Result<[UInt8]?, CertificateDirectoryError> {
        guard FileManager.default.fileExists(atPath: passphraseFile) else { return .success(nil) }
        do throws(CertificateDirectoryError) {
            return .success(try CredentialFiles.bytes(of: passphraseFile))
        } catch {
            return .failure(error)
        }
    }

    /// False: the bytes of a PEM file without a key.
    func mayHoldKey(_ bytes: [UInt8]) -> Bool { form != .pem || PEMText(bytes).hasKey }

    /// - Throws: `passphraseMissing` if they cannot be opened without.
    func identity(_ bytes: [UInt8], passphrase: String?) throws(TLSConfigurationError) -> TLSIdentity {
        let identity: TLSIdentity
        if isContainer {
            identity = try TLSIdentity(pkcs12: bytes, passphrase: passphrase)
        } else {
            identity = try TLSIdentity(pem: bytes, passphrase: passphrase)
        }
        // OpenSSL refuses some identities only here: a key that is too weak for its security level, say.
        _ = try TLSContext(client: identity, trust: .system)
        return identity
    }
}

/// The labels of a file's PEM blocks. What stands around them may be in any encoding.
struct PEMText {
    private let text: String

    init(_ bytes: [UInt8]) { text = String(decoding: bytes, as: UTF8.self) }

    var hasKey: Bool { text.contains("PRIVATE KEY-----") }
    var hasBlock: Bool { text.contains("-----BEGIN ") }
}
