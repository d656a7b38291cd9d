import Foundation
import TLSTransport

/// The certificates of a directory: `*.pem` (certificate and key), `*.p12` with the passphrase in `<name>.passphrase`.
///
/// Each belongs to the bundle in its subject, in the environments its extensions name; what the file is called does not
/// matter. Files that hold no key (a CA, say) are passed over.
public struct CertificateDirectory: Sendable {
    /// One certificate with its key.
    public struct Entry: Sendable {
        public var file: String
        public var identity: TLSIdentity
    }

    public let path: String
    public private(set) var entries: [Entry] = []

    /// Loads every certificate.
    ///
    /// - Throws: ``CertificateDirectoryError`` that names the directory or file.
    public init(path: String) throws(CertificateDirectoryError) {
        self.path = path
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: path).sorted()
        } catch {
            throw CertificateDirectoryError(file: path, reason: "the directory cannot be read")
        }
        for name in names {
            let file = "\(path)/\(name)"
            if name.hasSuffix(".p12") {
                try add(p12: file, stem: String(name.dropLast(4)), names: names)
            } else if name.hasSuffix(".pem"), try Self.holdsKey(file) {
                try add(file) { () throws(TLSConfigurationError) in try TLSIdentity(pemFile: file) }
            }
        }
    }

    /// The certificate of a bundle in an environment; the one that is valid longest if there are several.
    public func entry(bundleID: String, environment: EnvironmentSettings) -> Entry? {
        entries.filter { entry in
            entry.identity.certificate.topic == bundleID
                && entry.identity.certificate.environments.contains(environment.certificateEnvironment)
        }.max { $0.identity.certificate.notAfter < $1.identity.certificate.notAfter }
    }

    /// The bundles that have a certificate in an environment, sorted.
    public func bundleIDs(in environment: EnvironmentSettings) -> [String] {
        Set(entries.compactMap(\.identity.certificate.topic))
            .filter { entry(bundleID: $0, environment: environment) != nil }
            .sorted()
    }

    /// A TLS context for each bundle that has a certificate in the environment.
    public func clientContexts(
        for environment: EnvironmentSettings
    ) throws(CertificateDirectoryError) -> [String: TLSContext] {
        let trust: TLSTrust = environment.trustFile.map { .file($0) } ?? .system
        var contexts: [String: TLSContext] = [:]
        for bundleID in bundleIDs(in: environment) {
            guard let entry = entry(bundleID: bundleID, environment: environment) else { continue }
            do throws(TLSConfigurationError) {
                contexts[bundleID] = try TLSContext(client: entry.identity, trust: trust)
            } catch {
                throw CertificateDirectoryError(error, of: entry.file)
            }
        }
        return contexts
    }

    private mutating func add(p12 file: String, stem: String, names: [String]) throws(CertificateDirectoryError) {
        // The same certificate often lies beside it as PEM, which needs no passphrase.
        guard names.contains("\(stem).passphrase") else {
            if names.contains("\(stem).pem") { return }
            throw CertificateDirectoryError(file: file, reason: "its passphrase is missing: \(stem).passphrase")
        }
        let passphraseFile = "\(path)/\(stem).passphrase"
        guard let text = try? String(contentsOfFile: passphraseFile, encoding: .utf8) else {
            throw CertificateDirectoryError(file: passphraseFile, reason: "the file cannot be read")
        }
        let passphrase = text.trimmingCharacters(in: .newlines)
        try add(file) { () throws(TLSConfigurationError) in
            try TLSIdentity(pkcs12File: file, passphrase: passphrase)
        }
    }

    private mutating func add(
        _ file: String,
        load: () throws(TLSConfigurationError) -> TLSIdentity
    ) throws(CertificateDirectoryError) {
        do throws(TLSConfigurationError) {
            entries.append(Entry(file: file, identity: try load()))
        } catch {
            throw CertificateDirectoryError(error, of: file)
        }
    }

    private static func holdsKey(_ file: String) throws(CertificateDirectoryError) -> Bool {
        guard let bytes = FileManager.default.contents(atPath: file) else {
            throw CertificateDirectoryError(file: file, reason: "the file cannot be read")
        }
        // Only what stands between PEM's lines is ASCII for sure; the text around it may be in any encoding.
        return String(decoding: bytes, as: UTF8.self).contains("PRIVATE KEY-----")
    }
}

/// A certificate that cannot be used.
public struct CertificateDirectoryError: Error, Equatable, Sendable, CustomStringConvertible {
    public let file: String
    public let reason: String

    public var description: String { "\(file): \(reason)" }

    init(file: String, reason: String) {
        self.file = file
        self.reason = reason
    }

    /// - Parameter file: what is at fault if the error names no file itself.
    init(_ error: TLSConfigurationError, of file: String) {
        self.init(
            file: error.file ?? file,
            reason: TLSConfigurationError(error.reason, openSSLErrors: error.openSSLErrors).description
        )
    }
}

extension EnvironmentSettings {
    /// Which certificates belong here: those for production if that is its name, else those for development.
    var certificateEnvironment: CertificateInfo.Environments {
        name == "production" ? .production : .development
    }
}
