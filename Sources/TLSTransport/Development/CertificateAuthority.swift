import COpenSSL
import Glibc

/// A certificate authority for development and tests, in the place of Apple's.
///
/// Keys are EC P-256; the root's key is an ordinary file. Never use it to protect anything.
public struct CertificateAuthority: Sendable {
    /// The root certificate with its key.
    public let root: TLSIdentity

    /// Ten years, in seconds: a development PKI is not to expire in use.
    public static let defaultLifetimeSeconds: Int64 = 10 * 365 * 86_400
    /// Certificates begin an hour ago, so that a container whose clock is behind accepts them.
    private static let backdatedSeconds: Int64 = 3600

    /// Makes a new root, valid from now.
    public init(commonName: String = "Belfry Development CA") throws(TLSConfigurationError) {
        root = try CertificateBuilder(
            subject: [(NID_commonName, commonName)],
            extensions: [
                (NID_basic_constraints, "critical,CA:TRUE"),
                (NID_key_usage, "critical,keyCertSign,cRLSign"),
                (NID_subject_key_identifier, "hash"),
            ],
            validity: Self.defaultValidity()
        ).issue(by: nil)
    }

    /// Uses an existing root with its key.
    public init(root: TLSIdentity) {
        self.root = root
    }

    /// The root certificate alone, as PEM, for the other side's trust.
    public func rootPEM() throws(TLSConfigurationError) -> [UInt8] {
        OpenSSLError.clearQueue()
        let output = MemoryBIO()
        guard PEM_write_bio_X509(output.pointer, root.leaf.pointer) == 1 else {
            throw .fromQueue("the root certificate cannot be written as PEM")
        }
        return output.bytes
    }

    /// A server's certificate for `localhost`, `127.0.0.1`, `::1` and further names.
    ///
    /// - Parameters:
    ///   - names: DNS names (letters, digits, `-`, `.`, a leading `*.`) or IP addresses as text.
    ///   - validity: first and last second, UNIX seconds UTC; `nil`: ten years from now.
    /// - Throws: `invalidName`.
    public func issueServer(
        names: [String] = [],
        validity: ClosedRange<Int64>? = nil
    ) throws(TLSConfigurationError) -> TLSIdentity {
        var alternatives = ["DNS:localhost", "IP:127.0.0.1", "IP:::1"]
        for name in names {
            alternatives.append(try Self.alternativeName(name))
        }
        return try CertificateBuilder(
            subject: [(NID_commonName, names.first ?? "localhost")],
            extensions: [
                (NID_basic_constraints, "critical,CA:FALSE"),
                (NID_key_usage, "critical,digitalSignature"),
                (NID_ext_key_usage, "serverAuth"),
                (NID_subject_key_identifier, "hash"),
                (NID_authority_key_identifier, "keyid"),
                (NID_subject_alt_name, alternatives.joined(separator: ",")),
            ],
            validity: validity ?? Self.defaultValidity()
        ).issue(by: root)
    }

    /// A provider's certificate for one bundle ID, shaped like Apple's [10][field]. It has the bundle ID as UID, the
    /// common name of the environments, and the extensions that name them.
    ///
    /// - Parameters:
    ///   - bundleID: letters, digits, `-`, `.` and `_`, at most 255.
    ///   - environments: at least one.
    ///   - topics: further topics of a universal certificate besides the bundle ID (`<bundle>.voip`, say), in its
    ///     extension 1.2.840.113635.100.6.3.6 [field]; an ordinary certificate has none.
    ///   - validity: first and last second, UNIX seconds UTC, also in the past; `nil`: ten years from now.
    /// - Throws: `invalidName`.
    public func issueClient(
        bundleID: String,
        environments: CertificateInfo.Environments = .development,
        topics: [String] = [],
        validity: ClosedRange<Int64>? = nil
    ) throws(TLSConfigurationError) -> TLSIdentity {
        precondition(!environments.isEmpty, "a certificate without an environment opens nothing")
        for name in [bundleID] + topics {
            guard Self.isBundleID(name) else { throw TLSConfigurationError(.invalidName(name)) }
        }
        let kind =
            switch environments {
            case .development: "Apple Development IOS Push Services: "
            case .production: "Apple Production IOS Push Services: "
            default: "Apple Push Services: "
            }
        var markings: [CertificateBuilder.Marking] = []
        if environments.contains(.development) { markings.append(.presence(of: PushExtension.development)) }
        if environments.contains(.production) { markings.append(.presence(of: PushExtension.production)) }
        if !topics.isEmpty {
            let list = CertificateInfo.topicsExtension([bundleID] + topics)
            markings.append(CertificateBuilder.Marking(oid: PushExtension.topics, der: list))
        }
        return try CertificateBuilder(
            subject: [(NID_userId, bundleID), (NID_commonName, kind + bundleID)],
            extensions: [
                (NID_basic_constraints, "critical,CA:FALSE"),
                (NID_key_usage, "critical,digitalSignature"),
                (NID_ext_key_usage, "clientAuth"),
                (NID_subject_key_identifier, "hash"),
                (NID_authority_key_identifier, "keyid"),
            ],
            markings: markings,
            validity: validity ?? Self.defaultValidity()
        ).issue(by: root)
    }

    /// The text can safely stand in a certificate, a file name and an extension.
    static func isBundleID(_ text: String) -> Bool {
        (1...255).contains(text.utf8.count) && text.utf8.first != UInt8(ascii: ".")
            && text.utf8.allSatisfy { Self.isNameByte($0) || $0 == UInt8(ascii: "_") }
    }

    /// An entry of the alternative names; refuses names that the extension's syntax could misread.
    private static func alternativeName(_ name: String) throws(TLSConfigurationError) -> String {
        if let address = a2i_IPADDRESS(name) {
            ASN1_OCTET_STRING_free(address)
            return "IP:\(name)"
        }
        OpenSSLError.clearQueue()
        let labels = name.hasPrefix("*.") ? name.dropFirst(2) : name[...]
        guard (1...253).contains(labels.utf8.count), labels.utf8.allSatisfy(Self.isNameByte) else {
            throw TLSConfigurationError(.invalidName(name))
        }
        return "DNS:\(name)"
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."):
            true
        default:
            false
        }
    }

    static func defaultValidity() -> ClosedRange<Int64> {
        let now = Int64(time(nil))
        return (now - Self.backdatedSeconds)...(now + Self.defaultLifetimeSeconds)
    }
}
