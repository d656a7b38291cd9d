/// The reason why a session ended before its time. It is over for good: close the connection after the last output.
public enum HTTP2Failure: Error, Equatable, Sendable {
    /// The peer asked for more than ``PeerLimits`` allow. A GOAWAY with ENHANCE_YOUR_CALM tells it.
    case peerLimit(PeerExcess)
    /// The peer broke the protocol. A GOAWAY with `code` tells it; `reason` is nghttp2's, and may be empty.
    case protocolViolation(code: HTTP2ErrorCode, reason: String)
    /// The first bytes are not HTTP/2. `opening` is their beginning, at most 24 bytes, unprintable ones as dots.
    case notHTTP2(opening: String)
    /// nghttp2 cannot go on: memory is used up, or its state is unknown. `reason` is nghttp2's.
    case broken(reason: String)
}

extension HTTP2Failure: CustomStringConvertible {
    /// A sentence for people.
    public var description: String {
        switch self {
        case .peerLimit(let excess):
            "the peer exceeds a limit: \(excess)"
        case .protocolViolation(let code, let reason):
            "the peer broke the HTTP/2 protocol: \(code)" + (reason.isEmpty ? "" : " (\(reason))")
        case .notHTTP2(let opening):
            "the peer does not speak HTTP/2: its first bytes are \"\(opening)\""
        case .broken(let reason):
            "the HTTP/2 session cannot go on: \(reason)"
        }
    }
}

/// The reason why no stream can be opened now.
public enum HTTP2OpenRefusal: Error, Equatable, Sendable {
    /// As many streams are open as the peer allows at the moment. Try again when one has closed, or after
    /// ``HTTP2ClientEvent/settings``.
    case noStreamLeft
    /// A GOAWAY was received or sent, the session failed, or all stream numbers are used up. Needs a new connection.
    case sessionIsEnding
}

extension HTTP2OpenRefusal: CustomStringConvertible {
    public var description: String {
        switch self {
        case .noStreamLeft: "as many streams are open as the peer allows"
        case .sessionIsEnding: "the HTTP/2 session accepts no more requests"
        }
    }
}
