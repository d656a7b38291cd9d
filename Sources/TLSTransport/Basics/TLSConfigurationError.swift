/// A certificate, key or trust file that cannot be used, with the file's name if there is one.
///
/// An operator's mistake rather than a fault of the network: waiting does not help.
public struct TLSConfigurationError: Error, Equatable, Sendable {
    public enum Reason: Equatable, Sendable {
        /// The file could not be read; the text is the system's.
        case unreadable(String)
        /// The file or directory could not be written; the text is the system's.
        case unwritable(String)
        /// The file has no certificate in PEM form (wrong file, DER form, truncated).
        case noCertificate
        /// The file has no private key in PEM form.
        case noPrivateKey
        /// There is no public key in PEM form.
        case noPublicKey
        /// The key is of another kind or curve than ES256 needs; the text names those.
        case notES256Key(String)
        /// The private key is encrypted and no passphrase was given.
        case passphraseMissing
        /// The passphrase does not open the private key or the PKCS#12 container.
        case wrongPassphrase
        /// Certificate and private key do not belong together.
        case keyDoesNotMatchCertificate
        /// Not a PKCS#12 container at all.
        case notPKCS12
        /// OpenSSL refused something other than TLS version and cipher; the text names it.
        case rejected(String)
        /// A bundle ID or host name that cannot stand in a certificate or file name; the text is the name.
        case invalidName(String)
        /// Not 32 bytes as 64 hex digits.
        case invalidTokenKey
        /// The file has no revocation list in PEM form.
        case noRevocationList
        /// The revocation list is from an authority other than the trusted one.
        case foreignRevocationList
    }

    public let reason: Reason
    /// The file that the error concerns; `nil` for bytes that came from memory.
    public let file: String?
    /// OpenSSL's error queue, the cause first.
    public let openSSLErrors: [String]

    public init(_ reason: Reason, file: String? = nil, openSSLErrors: [String] = []) {
        self.reason = reason
        self.file = file
        self.openSSLErrors = openSSLErrors
    }

    /// The error of the OpenSSL call that just failed on this thread.
    static func fromQueue(_ what: String, file: String? = nil) -> TLSConfigurationError {
        let errors = OpenSSLError.drainQueue().map(\.text)
        return TLSConfigurationError(
            .rejected(errors.first.map { "\(what): \($0)" } ?? what),
            file: file,
            openSSLErrors: errors
        )
    }

    /// The same error with the file's name.
    func inFile(_ file: String) -> TLSConfigurationError {
        TLSConfigurationError(reason, file: file, openSSLErrors: openSSLErrors)
    }
}

extension TLSConfigurationError: CustomStringConvertible {
    /// A sentence for people. OpenSSL's words are in it where it is OpenSSL that objects; elsewhere they add nothing.
    public var description: String {
        let text =
            switch reason {
            case .unreadable(let why): "cannot be read: \(why)"
            case .unwritable(let why): "cannot be written: \(why)"
            case .noCertificate: "holds no certificate in PEM form"
            case .noPrivateKey: "holds no private key in PEM form"
            case .noPublicKey: "holds no public key in PEM form"
            case .notES256Key(let kind): "its key (\(kind)) cannot sign by ES256, which needs the curve P-256"
            case .passphraseMissing: "its private key is encrypted and no passphrase was given"
            case .wrongPassphrase: "the passphrase is wrong"
            case .keyDoesNotMatchCertificate: "the private key does not belong to the certificate"
            case .notPKCS12: "is not a PKCS#12 container"
            case .rejected(let why): OpenSSLError.describe(why, openSSLErrors)
            case .invalidName(let name): "\"\(name)\" cannot be the name of a certificate"
            case .invalidTokenKey: "is not a token key: 64 hex digits are expected"
            case .noRevocationList: "holds no certificate revocation list in PEM form"
            case .foreignRevocationList: "the revocation list is not signed by the authority that is trusted"
            }
        return file.map { "\($0): \(text)" } ?? text
    }
}
