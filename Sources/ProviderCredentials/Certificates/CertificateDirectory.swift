import BelfrySupport
import Foundation
import TLSTransport

/// The certificates of a directory: `*.pem` (certificate and key), `*.p12` with the passphrase in
/// `<name>.passphrase`.
///
/// Each belongs to the bundle in its subject, in the environments its extensions name; what the file is called does
/// not matter. Files that hold no key (a CA, say) are passed over, and so are `*.p12` without a passphrase, whatever
/// lies beside them: nothing tells whether they are meant. Any other file that cannot be used is a fault, which
/// concerns the bundle of that file alone.
public struct CertificateDirectory: Sendable {
    /// One certificate with its key.
    public struct Entry: Sendable {
        public var file: String
        public var identity: TLSIdentity
        /// The file's bytes, behind those of its passphrase: equal bytes are the same certificate and key.
        let content: [UInt8]
    }

    /// A file that is passed over. No fault.
    public struct PassedOver: Hashable, Sendable {
        public let file: String
        /// Fit to follow the file's name.
        public let reason: String
        /// A container that lacks its passphrase: it may be an app's only certificate.
        public let isLocked: Bool
    }

    /// The result of reading one file.
    private struct Reading: Sendable {
        var content: [UInt8]
        var outcome: Result<Entry?, CertificateDirectoryError>
    }

    public let path: String
    private let isOptional: Bool
    public private(set) var entries: [Entry] = []
    /// The files that cannot be used, by name.
    public private(set) var faults: [CertificateDirectoryError] = []
    /// The files of keys that all users of this machine can read, by name; a container only with its passphrase.
    private(set) var exposed: [String] = []
    /// All other files, by name.
    public private(set) var passedOver: [PassedOver] = []
    /// By file.
    private var readings: [String: Reading] = [:]

    /// Loads every certificate.
    ///
    /// - Parameter isOptional: a directory that does not exist is an empty one.
    /// - Throws: ``CertificateDirectoryError`` that names the directory: it cannot be read.
    public init(path: String, isOptional: Bool = false) throws(CertificateDirectoryError) {
        try self.init(path: path, isOptional: isOptional, previous: nil)
    }

    /// The configured directory.
    package init(_ settings: CertificateSettings) throws(CertificateDirectoryError) {
        try self.init(path: settings.directory, isOptional: settings.isOptional)
    }

    /// Reads the directory again; what did not change is taken over, not parsed again.
    func again() throws(CertificateDirectoryError) -> CertificateDirectory {
        try CertificateDirectory(path: path, isOptional: isOptional, previous: self)
    }

    private init(
        path: String,
        isOptional: Bool,
        previous: CertificateDirectory?
    ) throws(CertificateDirectoryError) {
        self.path = path
        self.isOptional = isOptional
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: path).sorted()
        } catch {
            guard isOptional, !FileManager.default.fileExists(atPath: path) else {
                throw CertificateDirectoryError(file: path, reason: "the directory cannot be read")
            }
            names = []
        }
        // First, for they decide about those beside them.
        for name in names where name.hasSuffix(".pem") {
            collect { (directory) throws(CertificateDirectoryError) in
                try directory.add(pem: "\(path)/\(name)", previous)
            }
        }
        for name in names where name.hasSuffix(".p12") {
            collect { (directory) throws(CertificateDirectoryError) in
                try directory.add(p12: "\(path)/\(name)", stem: String(name.dropLast(4)), names: names, previous)
            }
        }
        for name in names where !name.hasSuffix(".pem") && !name.hasSuffix(".p12") {
            pass(over: "\(path)/\(name)", reason: Self.use(of: name, beside: names))
        }
        entries.sort { $0.file < $1.file }
        exposed = entries.map(\.file).filter(Self.isExposed)
        faults.sort { $0.file < $1.file }
        passedOver.sort { $0.file < $1.file }
    }

    /// The use of a file that is neither `*.pem` nor `*.p12`.
    private static func use(of name: String, beside names: [String]) -> String {
        let ending = ".passphrase"
        guard name.hasSuffix(ending) else { return "neither a .pem nor a .p12 file" }
        let container = "\(name.dropLast(ending.count)).p12"
        return names.contains(container) ? "the passphrase of \(container)" : "there is no \(container) to open with it"
    }

    private mutating func pass(over file: String, reason: String, isLocked: Bool = false) {
        passedOver.append(PassedOver(file: file, reason: reason, isLocked: isLocked))
    }

    private mutating func collect(
        _ add: (inout CertificateDirectory) throws(CertificateDirectoryError) -> Void
    ) {
        do throws(CertificateDirectoryError) {
            try add(&self)
        } catch {
            faults.append(error)
        }
    }

    /// The containers among ``passedOver`` that lack their passphrase.
    package var locked: [PassedOver] { passedOver.filter(\.isLocked) }

    /// The certificate of a bundle in an environment. If there are several: of those that are valid the one that is so
    /// longest; of none that is, the one that ends last.
    ///
    /// - Parameter now: UNIX seconds.
    public func entry(bundleID: String, environment: EnvironmentSettings, now: Int64) -> Entry? {
        entries(of: environment).filter { $0.identity.certificate.topic == bundleID }
            .max { Self.rank($0.identity.certificate, now) < Self.rank($1.identity.certificate, now) }
    }

    /// The better certificate has the higher rank.
    private static func rank(_ certificate: CertificateInfo, _ now: Int64) -> (Int, Int64) {
        (certificate.isValid(at: now) ? 1 : 0, certificate.notAfter)
    }

    private func entries(of environment: EnvironmentSettings) -> [Entry] {
        entries.filter { $0.identity.certificate.environments.contains(environment.certificateEnvironment) }
    }

    /// The bundles that have a certificate in an environment, sorted.
    public func bundleIDs(in environment: EnvironmentSettings) -> [String] {
        Set(entries(of: environment).compactMap(\.identity.certificate.topic)).sorted()
    }

    private mutating func add(
        p12 file: String,
        stem: String,
        names: [String],
        _ previous: CertificateDirectory?
    ) throws(CertificateDirectoryError) {
        guard names.contains("\(stem).passphrase") else {
            // The same certificate often lies beside it as PEM, which needs no passphrase.
            let isReplaced = entries.contains { $0.file == "\(path)/\(stem).pem" }
            let reason = "its passphrase is missing: \(stem).passphrase"
            return pass(over: file, reason: isReplaced ? "\(reason); \(stem).pem is used" : reason, isLocked: true)
        }
        let secret = try Self.bytes(of: "\(path)/\(stem).passphrase")
        guard let text = String(bytes: secret, encoding: .utf8) else {
            throw CertificateDirectoryError(file: "\(path)/\(stem).passphrase", reason: "is no text in UTF-8")
        }
        let container = try Self.bytes(of: file)
        try add(file, content: secret + [0] + container, previous) { () throws(TLSConfigurationError) in
            try TLSIdentity(pkcs12: container, passphrase: text.trimmingCharacters(in: .newlines))
        }
    }

    private mutating func add(
        pem file: String,
        _ previous: CertificateDirectory?
    ) throws(CertificateDirectoryError) {
        let bytes = try Self.bytes(of: file)
        try add(file, content: bytes, previous) { () throws(TLSConfigurationError) in
            // Only what stands between PEM's lines is ASCII for sure; the text around it may be in any encoding.
            guard String(decoding: bytes, as: UTF8.self).contains("PRIVATE KEY-----") else { return nil }
            return try TLSIdentity(pem: bytes)
        }
    }

    /// - Parameter load: nil: the file holds no key and is passed over.
    private mutating func add(
        _ file: String,
        content: [UInt8],
        _ previous: CertificateDirectory?,
        load: () throws(TLSConfigurationError) -> TLSIdentity?
    ) throws(CertificateDirectoryError) {
        let reading: Reading
        if let known = previous?.readings[file], known.content == content {
            reading = known
        } else {
            reading = Reading(content: content, outcome: Self.outcome(of: file, content: content, load: load))
        }
        readings[file] = reading
        if let entry = try reading.outcome.get() {
            entries.append(entry)
        } else {
            pass(over: file, reason: "holds no private key")
        }
    }

    private static func outcome(
        of file: String,
        content: [UInt8],
        load: () throws(TLSConfigurationError) -> TLSIdentity?
    ) -> Result<Entry?, CertificateDirectoryError> {
        do throws(TLSConfigurationError) {
            guard let identity = try load() else { return .success(nil) }
            // OpenSSL refuses some identities only here: a key that is too weak for its security level, say.
            _ = try TLSContext(client: identity, trust: .system)
            return .success(Entry(file: file, identity: identity, content: content))
        } catch {
            return .failure(CertificateDirectoryError(error, of: file))
        }
    }

    private static func isExposed(_ file: String) -> Bool {
        guard file.hasSuffix(".p12") else { return ExposedFile.isExposed(file) }
        return ExposedFile.isExposed(file) && ExposedFile.isExposed("\(file.dropLast(4)).passphrase")
    }

    private static func bytes(of file: String) throws(CertificateDirectoryError) -> [UInt8] {
        guard let bytes = FileManager.default.contents(atPath: file) else {
            throw CertificateDirectoryError(file: file, reason: "the file cannot be read")
        }
        return [UInt8](bytes)
    }
}

/// A certificate, or a directory of them, that cannot be used.
public struct CertificateDirectoryError: Error, Hashable, Sendable, CustomStringConvertible {
    public let file: String
    public let reason: String

    public var description: String { "\(file): \(reason)" }

    package init(file: String, reason: String) {
        self.file = file
        self.reason = reason
    }

    /// - Parameter file: what is at fault if the error names no file itself.
    package init(_ error: TLSConfigurationError, of file: String) {
        self.init(
            file: error.file ?? file,
            reason: TLSConfigurationError(error.reason, openSSLErrors: error.openSSLErrors).description
        )
    }
}

extension EnvironmentSettings {
    /// The kind of certificate that belongs here. Production if that is the environment's name, else development.
    var certificateEnvironment: CertificateInfo.Environments {
        name == "production" ? .production : .development
    }
}
