/// The interface over which the workers of a ``LocalPipeline`` reach the sandbox.
public enum PipelineTransport: String, CaseIterable, Sendable {
    /// The binary interface: a certificate for each topic.
    case binary
    /// The provider API over HTTP/2, see ``topicsWithKey(of:)``.
    case http2

    /// The team of the keys that the sandbox writes, unless it is told otherwise.
    static let team = "BELFRYTEAM"

    /// The topics that use the provider key of one team, and share connections: every other one, the first among them.
    /// The rest have a certificate each, so that both ways are always taken.
    public func topicsWithKey(of topics: [String]) -> [String] {
        switch self {
        case .binary: []
        case .http2: topics.enumerated().filter { $0.offset.isMultiple(of: 2) }.map(\.element)
        }
    }
}
