import BelfrySupport
import TLSTransport

/// The terms on which an environment's servers are trusted: roots, revocation list and TLS version, as they were read.
///
/// Equal terms make contexts that judge alike.
struct GatewayTrust: Sendable, Equatable {
    private let roots: TLSTrust
    private let minimumVersion: TLSContext.MinimumVersion
    /// Parsed once for all bundles.
    private let revocations: RevocationList?
    /// The list's bytes; empty without one.
    private let revocationPEM: [UInt8]
    /// ALPN names to offer.
    private let protocols: [String]

    /// Reads the files of an environment. Blocks.
    ///
    /// - Parameter protocols: the ALPN names to offer; empty: the extension is not sent.
    /// - Throws: ``CertificateDirectoryError`` that names the file: it cannot be read, or is something else.
    init(_ environment: EnvironmentSettings, protocols: [String] = []) throws(CertificateDirectoryError) {
        self.protocols = protocols
        minimumVersion = environment.minimumTLS == .tls13 ? .tls13 : .tls12
        do throws(TLSConfigurationError) {
            let trust: TLSTrust = environment.trustFile.map { .file($0) } ?? .system
            roots = try trust.inMemory()
        } catch {
            throw CertificateDirectoryError(error, of: environment.trustFile ?? "trust")
        }
        guard let file = environment.revocationFile else {
            (revocations, revocationPEM) = (nil, [])
            return
        }
        guard roots != .system else {
            throw CertificateDirectoryError(file: file, reason: "a revocation list needs trust: its authority's roots")
        }
        do throws(TLSConfigurationError) {
            let list = try RevocationList(pemFile: file, issuedBy: roots)
            (revocations, revocationPEM) = (list, try list.pem())
        } catch {
            throw CertificateDirectoryError(error, of: file)
        }
    }

    /// A context for connections with this identity; nil: without one.
    func context(of identity: TLSIdentity?) throws(TLSConfigurationError) -> TLSContext {
        try TLSContext(
            client: identity,
            trust: roots,
            revocations: revocations,
            minimumVersion: minimumVersion,
            protocols: protocols
        )
    }

    static func == (left: GatewayTrust, right: GatewayTrust) -> Bool {
        left.roots == right.roots && left.revocationPEM == right.revocationPEM
            && left.minimumVersion == right.minimumVersion && left.protocols == right.protocols
    }
}
