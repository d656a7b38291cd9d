import Glibc
import TLSTransport

/// Something the sandbox needs to start is missing or wrong; the caller's configuration is at fault.
public struct SandboxSetupError: Error, CustomStringConvertible, Sendable {
    /// The file or setting in question.
    public let subject: String
    /// The problem with the subject, fit to follow its name.
    public let problem: String

    /// The subject and what is wrong with it.
    public var description: String { "\(subject): \(problem)" }
}

extension SandboxSetupError {
    /// The same about a certificate, key or trust file, for callers that know nothing of TLS.
    init(_ error: TLSConfigurationError) {
        let withoutFile = TLSConfigurationError(error.reason, openSSLErrors: error.openSSLErrors)
        self.init(subject: error.file ?? "TLS", problem: withoutFile.description)
    }

    /// The same about a directory that has to be there: a file that is missing is told with the command that writes it.
    init(_ error: TLSConfigurationError, missingFrom pki: DevelopmentPKI) {
        self.init(error)
        let written = [pki.authorityFile, pki.authorityKeyFile, pki.serverFile, pki.tokenKeyFile]
        guard error.reason == .unreadable(String(cString: strerror(ENOENT))), written.contains(subject) else { return }
        let production = pki.environments == .production ? " --environment production" : ""
        let command = "belfry sandbox certificates --pki \(pki.directory) --topics <bundle IDs>\(production)"
        self.init(subject: subject, problem: "\(problem); write it with: \(command)")
    }
}
