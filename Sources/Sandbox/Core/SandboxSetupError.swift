import TLSTransport

/// Something the sandbox needs to start is missing or wrong; the caller's configuration is at fault.
public struct SandboxSetupError: Error, CustomStringConvertible, Sendable {
    /// The file or setting in question.
    public let subject: String
    /// What is wrong with it, fit to follow its name.
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
}
