import BelfrySupport
import KafkaClient
import ProviderCredentials
import TLSTransport

/// The exit codes of the command line.
public enum ExitStatus: Int32, Sendable {
    /// The work is done.
    case done = 0
    /// The work failed.
    case failed = 1
    /// The command line is wrong.
    case usage = 64
    /// The configuration is wrong: starting again does not help.
    case configuration = 78

    /// The exit code for an error that ended a command.
    public init(for error: any Error) {
        switch error {
        case is ConfigurationError, is TLSConfigurationError, is CertificateDirectoryError, is ProviderKeyError,
            is OperationsFileError:
            self = .configuration
        case let error as KafkaError where error.isConfiguration: self = .configuration
        case ToolError.invalidInput: self = .usage
        case ToolError.configuration: self = .configuration
        default: self = .failed
        }
    }
}
