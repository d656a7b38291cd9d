/// The reason that a command failed: exit code 1, or 64 for what was typed wrong.
public enum ToolError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The input is wrong; one line for each fault. Nothing was published.
    case invalidInput([String])
    /// Kafka did not acknowledge everything.
    case notDelivered(failed: Int, of: Int, reason: String)
    /// The thing that was asked for does not exist.
    case notFound(String)
    /// Kafka cannot be used, and why.
    case kafka(String)
    /// The push service refused a request, or cannot be reached; and why.
    case refused(String)
    /// A property handed to Kafka's client is wrong: exit code 78.
    case configuration(String)

    public var description: String {
        switch self {
        case .invalidInput(let lines): lines.joined(separator: "\n")
        case .notDelivered(let failed, let total, let reason):
            "\(failed) of \(counted(total, "record")) not acknowledged: \(reason)"
        case .notFound(let reason), .kafka(let reason), .refused(let reason), .configuration(let reason): reason
        }
    }
}
