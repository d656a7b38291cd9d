import BelfrySupport
import Foundation
import TLSTransport

/// The certificates of a directory: `*.pem` (certificate and key), `*.p12` and `*.pfx`, and `tls.crt` with `tls.key`,
/// which may also lie in a directory of their own in it. A passphrase, where one is needed, is in `<name>.passphrase`.
///
/// Each belongs to the bundle in its subject, in the environments its extensions name; what the file is called does not
/// matter. A certificate of VoIP Services stands beside the bundle's own one. Files that are no push certificate (a CA,
/// say) are passed over, and so are those that lack their passphrase, their key or a name that is read. Any other file
/// that cannot be used is a fault, which concerns the bundle of that file alone.
public struct CertificateDirectory: Sendable {
    /// One certificate with its key.
    public struct Entry: Sendable {
        public var file: String
        public var identity: TLSIdentity
        /// The bytes of certificate and key as they lie there: equal bytes are the same certificate and key.
        let content: [UInt8]
        /// The file with the key, and that of its passphrase if it needs one: with all of these one has the key.
        let keyFiles: [String]
    }

    /// A file that is passed over.
    public struct PassedOver: Hashable, Sendable {
        public enum Kind: Sendable {
            /// It is not meant to give a certificate with its key. No fault.
            case other
            /// It lacks its passphrase, and a file of the same name is used. No fault.
            case spare
            /// It may be an app's only certificate, or a part of that. An operator has to act.
            case missed
        }

        public let file: String
        /// Fit to follow the file's name.
        public let reason: String
        public let kind: Kind
    }

    /// The content of one source.
    private enum Content: Sendable {
        case usable(Entry)
        /// It needs a passphrase and has none.
        case locked
        case keyless
    }

    /// The result of reading one source.
    private struct Reading: Sendable {
        let bytes: [UInt8]
        let passphrase: Result<[UInt8]?, CertificateDirectoryError>
        let content: Result<Content, CertificateDirectoryError>
    }

    /// A directory with those of its files that are looked at.
    private struct Folder {
        let path: String
        let names: [String]
    }

    public let path: String
    private let isOptional: Bool
    public private(set) var entries: [Entry] = []
    /// The files that cannot be used, by name.
    public private(set) var faults: [CertificateDirectoryError] = []
    /// The files of keys that all users of this machine can read, by name; a locked one only with its passphrase.
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
            names = try CredentialFiles.names(in: path)
        } catch {
            guard isOptional, !FileManager.default.fileExists(atPath: path) else {
                throw CertificateDirectoryError(file: path, reason: "the directory cannot be read")
            }
            names = []
        }
        let folders = addFolders(of: names)
        read(folders, previous)
        entries.sort { $0.file < $1.file }
        exposed = entries.filter { $0.keyFiles.allSatisfy(ExposedFile.isExposed) }.map { $0.keyFiles[0] }
        faults.sort { $0.file < $1.file }
        passedOver.sort { $0.file < $1.file }
    }

    /// The directory itself, and those in it with a file of a pair; other ones are passed over.
    private mutating func addFolders(of names: [String]) -> [Folder] {
        var folders: [Folder] = []
        var files: [String] = []
        for name in names {
            let place = "\(path)/\(name)"
            // A directory with the name of a certificate is a fault, as a file that cannot be read.
            guard CredentialSource(name, in: path, beside: names) == nil, CredentialFiles.isDirectory(place) else {
                files.append(name)
                continue
            }
            do {
                let pair = try CredentialFiles.names(in: place).filter { CredentialSource.pairNames.contains($0) }
                folders.append(Folder(path: place, names: pair))
                guard pair.isEmpty else { continue }
                let reason = "a directory without \(CredentialSource.pairNames.joined(separator: " and "))"
                passedOver.append(PassedOver(file: place, reason: reason, kind: .other))
            } catch {
                faults.append(CertificateDirectoryError(file: place, reason: "the directory cannot be read"))
            }
        }
        return folders + [Folder(path: path, names: files)]
    }

    private mutating func read(_ folders: [Folder], _ previous: CertificateDirectory?) {
        var locked: [CredentialSource] = []
        var rest: [Folder] = []
        for folder in folders {
            var others: [String] = []
            for name in folder.names {
                guard let source = CredentialSource(name, in: folder.path, beside: folder.names) else {
                    others.append(name)
                    continue
                }
                do throws(CertificateDirectoryError) {
                    switch try read(source, previous) {
                    case .usable(let entry): entries.append(entry)
                    case .locked: locked.append(source)
                    case .keyless: others.append(name)
                    }
                } catch {
                    faults.append(error)
                }
            }
            rest.append(Folder(path: folder.path, names: others))
        }
        // Last, for those that are used decide about the others.
        let unused = UnusedFiles(entries: entries)
        passedOver += locked.map(unused.judge(locked:))
        for (folder, others) in zip(folders, rest) {
            for name in others.names {
                do throws(CertificateDirectoryError) {
                    passedOver.append(try unused.judge(name, in: folder.path, beside: folder.names))
                } catch {
                    faults.append(error)
                }
            }
        }
    }

    /// The files among ``passedOver`` from which an app's certificate could come.
    package var unused: [PassedOver] { passedOver.filter { $0.kind != .other } }

    /// The certificate of a bundle in an environment. If there are several: of those that are valid the one that is so
    /// longest; of none that is, the one that ends last.
    ///
    /// - Parameters:
    ///   - isVoIP: the one of VoIP Services.
    ///   - now: UNIX seconds.
    public func entry(
        bundleID: String,
        isVoIP: Bool = false,
        environment: EnvironmentSettings,
        now: Int64
    ) -> Entry? {
        entries(of: environment, isVoIP: isVoIP).filter { $0.identity.certificate.bundleID == bundleID }
            .max { Self.rank($0.identity.certificate, now) < Self.rank($1.identity.certificate, now) }
    }

    /// The better certificate has the higher rank.
    private static func rank(_ certificate: CertificateInfo, _ now: Int64) -> (Int, Int64) {
        (certificate.isValid(at: now) ? 1 : 0, certificate.notAfter)
    }

    /// The binary interface knows no push types, so that a certificate of VoIP Services is of no use there.
    private func entries(of environment: EnvironmentSettings, isVoIP: Bool) -> [Entry] {
        guard !isVoIP || environment.transport == .http2 else { return [] }
        return entries.filter { entry in
            let certificate = entry.identity.certificate
            return certificate.isVoIP == isVoIP
                && certificate.environments.contains(environment.certificateEnvironment)
        }
    }

    /// The bundles that have a certificate in an environment, sorted.
    ///
    /// - Parameter isVoIP: one of VoIP Services.
    public func bundleIDs(in environment: EnvironmentSettings, isVoIP: Bool = false) -> [String] {
        Set(entries(of: environment, isVoIP: isVoIP).compactMap(\.identity.certificate.bundleID)).sorted()
    }

    /// The bundles that have any certificate, in any environment.
    package var bundleIDs: Set<String> { Set(entries.compactMap(\.identity.certificate.bundleID)) }

    private mutating func read(
        _ source: CredentialSource,
        _ previous: CertificateDirectory?
    ) throws(CertificateDirectoryError) -> Content {
        let bytes = try source.bytes()
        let passphrase = source.passphrase()
        let reading: Reading
        if let known = previous?.readings[source.file], known.bytes == bytes, known.passphrase == passphrase {
            reading = known
        } else {
            let content = Self.content(of: source, bytes, passphrase)
            reading = Reading(bytes: bytes, passphrase: passphrase, content: content)
        }
        readings[source.file] = reading
        return try reading.content.get()
    }

    private static func content(
        of source: CredentialSource,
        _ bytes: [UInt8],
        _ passphrase: Result<[UInt8]?, CertificateDirectoryError>
    ) -> Result<Content, CertificateDirectoryError> {
        do throws(CertificateDirectoryError) {
            return .success(try opened(source, bytes, passphrase))
        } catch {
            return .failure(error)
        }
    }

    private static func opened(
        _ source: CredentialSource,
        _ bytes: [UInt8],
        _ passphrase: Result<[UInt8]?, CertificateDirectoryError>
    ) throws(CertificateDirectoryError) -> Content {
        guard source.mayHoldKey(bytes) else { return .keyless }
        do throws(TLSConfigurationError) {
            let identity = try source.identity(bytes, passphrase: nil)
            return .usable(
                Entry(file: source.file, identity: identity, content: bytes, keyFiles: [source.keyFile])
            )
        } catch {
            guard error.reason == .passphraseMissing else { throw CertificateDirectoryError(error, of: source.file) }
        }
        guard let secret = try passphrase.get() else { return .locked }
        guard let text = String(bytes: secret, encoding: .utf8) else {
            throw CertificateDirectoryError(file: source.passphraseFile, reason: "is no text in UTF-8")
        }
        do throws(TLSConfigurationError) {
            let identity = try source.identity(bytes, passphrase: text.trimmingCharacters(in: .newlines))
            let keyFiles = [source.keyFile, source.passphraseFile]
            return .usable(Entry(file: source.file, identity: identity, content: bytes, keyFiles: keyFiles))
        } catch {
            throw CertificateDirectoryError(error, of: source.file)
        }
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
