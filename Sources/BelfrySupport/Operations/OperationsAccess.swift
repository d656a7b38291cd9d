import Logging
import NIOCore
import PipelineCore
import TLSTransport

/// The terms on which the operations port answers: the token that it wants, and its certificate.
///
/// Both files are followed, see ``FollowedFile``. A token's file that vanished or broke lets no client in: to remove it
/// is to take it back. A certificate's file that vanished or broke leaves the former certificate in use.
struct OperationsAccess: Sendable {
    private let token: FollowedFile<BearerToken>?
    private let certificate: FollowedFile<TLSContext>?
    private let settings: OperationsSettings
    private let logger: Logger

    /// Reads the files that the settings name. Blocks.
    ///
    /// - Throws: ``OperationsFileError``.
    init(
        _ settings: OperationsSettings,
        logger: Logger,
        now: MonotonicTime = MonotonicTime(.now())
    ) throws(OperationsFileError) {
        self.settings = settings
        self.logger = logger
        token = try Self.open(settings.bearerTokenFile, OperationsSettings.tokenKey, now: now) {
            (content) throws(UnusableContent) in try BearerToken(content: content)
        }
        certificate = try Self.open(settings.certificateFile, OperationsSettings.certificateKey, now: now) {
            (content) throws(UnusableContent) in try Self.context(content)
        }
    }

    /// Tells whether a request may read what the token guards.
    ///
    /// - Parameter authorization: the request's field of that name; nil: it has none.
    func isAllowed(authorization: String?, now: MonotonicTime = MonotonicTime(.now())) -> Bool {
        guard let token else { return true }
        let answer = token.ask(now: now)
        if answer.isNews {
            tell(
                answer.fault,
                of: token.path,
                "operations token cannot be used; nobody is let in",
                orElse: "operations token was read again"
            )
        }
        return answer.fault == nil && answer.value.isShown(by: authorization)
    }

    /// Makes a new connection speak TLS, if it is to. On the channel's event loop.
    func speakTLS(_ channel: any Channel) throws {
        guard let context = context() else { return }
        let tls = TLSHandler(context: context, serverName: nil, closeTimeout: .milliseconds(500))
        try channel.pipeline.syncOperations.addHandlers(PlainRequestRefusal(), tls)
    }

    /// The terms of TLS for a new connection; nil: the port speaks plain HTTP.
    func context(now: MonotonicTime = MonotonicTime(.now())) -> TLSContext? {
        guard let certificate else { return nil }
        let answer = certificate.ask(now: now)
        if answer.isNews {
            tell(
                answer.fault,
                of: certificate.path,
                "operations certificate cannot be used; the former one stays",
                orElse: "operations certificate was read again"
            )
        }
        return answer.value
    }

    /// Logs what a new reading of a file found.
    ///
    /// - Parameter fault: nil: its content is used.
    private func tell(_ fault: String?, of file: String, _ trouble: Logger.Message, orElse success: Logger.Message) {
        if let fault {
            logger.error(trouble, metadata: ["file": "\(file)", "reason": "\(fault)"])
        } else {
            logger.info(success, metadata: ["file": "\(file)"])
        }
    }

    /// Logs what the settings leave open, once.
    ///
    /// - Parameter address: where the port listens.
    func warnOfOpenness(at address: HostPort) {
        let missing = settings.missingProtection
        if !missing.isEmpty {
            logger.warning(
                "operations port is open to the network",
                metadata: ["address": "\(address)", "not-set": "\(missing.joined(separator: ", "))"]
            )
        }
        for (_, file) in settings.exposedSecrets {
            logger.warning("secret of the operations port can be read by everybody", metadata: ["file": "\(file)"])
        }
    }

    private static func open<Value>(
        _ path: String?,
        _ key: String,
        now: MonotonicTime,
        make: @escaping @Sendable ([UInt8]) throws(UnusableContent) -> Value
    ) throws(OperationsFileError) -> FollowedFile<Value>? {
        guard let path else { return nil }
        do throws(UnusableContent) {
            return try FollowedFile(path, now: now, make: make)
        } catch {
            throw OperationsFileError(key: key, file: path, reason: error.reason)
        }
    }

    private static func context(_ pem: [UInt8]) throws(UnusableContent) -> TLSContext {
        do throws(TLSConfigurationError) {
            let identity = try TLSIdentity(pem: pem)
            return try TLSContext(server: identity, clientTrust: nil, requireClientCertificate: false)
        } catch {
            throw UnusableContent(reason: error.description)
        }
    }
}

extension OperationsSettings {
    /// The secrets that all users of this machine can read. Looks at the files.
    var exposedSecrets: [(key: String, file: String)] {
        secrets.filter { FileStamp(of: $0.file)?.isExposed == true }
    }
}

/// A file of the operations port that cannot be used: configuration is wrong (exit code 78).
public struct OperationsFileError: Error, Equatable, CustomStringConvertible {
    /// The configuration's key that names the file.
    public let key: String
    public let file: String
    /// Fit to follow the file's name.
    public let reason: String

    public var description: String { "\(key): \(file): \(reason)" }
}
