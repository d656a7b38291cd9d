import LocalPipeline

/// The ways in which the topic beside the healthy one is sick.
enum Sickness: String, CaseIterable, Sendable {
    case certificateRefused = "certificate-refused"
    case certificateMissing = "certificate-missing"
    case unreachable
    case halfDead = "half-dead"
    case slow
    case poisoned
    case invalidAll = "invalid-100"
    case invalidSome = "invalid-20"
    case badTokens = "bad-tokens"

    /// The manner in which its gateway receives connections.
    ///
    /// - Parameter rate: notifications a second that the topic is offered.
    func manner(rate: Int, over transport: PipelineTransport) -> GatewayManner {
        switch self {
        // Connections with a provider key show no certificate: their requests are refused.
        case .certificateRefused: transport == .http2 ? .works : .refusesCertificates
        case .unreachable: .closed
        case .halfDead: .readsNothing
        case .slow:
            .slow(bytesPerSecond: rate / 100 * (transport == .http2 ? Self.requestBytes : Self.frameBytes))
        case .certificateMissing, .poisoned, .invalidAll, .invalidSome, .badTokens: .works
        }
    }

    /// Over HTTP/2 the topic has the healthy one's environment, so that they share connections with their provider key.
    /// One whose gateway is the trouble has a gateway of its own, and shares the key alone.
    func sharesConnections(over transport: PipelineTransport) -> Bool {
        switch self {
        case .unreachable, .halfDead, .slow: false
        case .certificateRefused, .certificateMissing, .poisoned, .invalidAll, .invalidSome, .badTokens:
            transport == .http2
        }
    }

    /// Notifications per record.
    var tokensPerRecord: Int { self == .badTokens ? 1000 : 100 }

    /// The kind of a device's token.
    func kind(of device: UInt32, over transport: PipelineTransport) -> TokenKind {
        switch self {
        case .certificateRefused: transport == .http2 ? .forbidden : .good
        case .invalidAll: .invalid
        case .invalidSome: device % 5 == 0 ? .invalid : .good
        case .poisoned: device % 100 == 0 ? .poison : .good
        case .badTokens: .malformed
        case .certificateMissing, .unreachable, .halfDead, .slow: .good
        }
    }

    /// Of a notification, as the worker sends it: command and length, and five items with three bytes in front.
    private static let frameBytes = 5 + 5 * 3 + DeviceToken.bytes + NumberedPayload.count + 4 + 4 + 1

    /// The same of a request: two frames' heads, what compression leaves of its path and its id, and some bytes for the
    /// fields that repeat.
    private static let requestBytes = 2 * 9 + 2 * DeviceToken.bytes + 36 + 10 + NumberedPayload.count
}

/// Treatment of a token by a gateway.
enum TokenKind: UInt8, Sendable {
    case good = 1
    /// Answered with status 8, or 400 and `BadDeviceToken`.
    case invalid
    /// The connection is closed without a word.
    case poison
    /// Of a length that no token has: it never leaves the worker.
    case malformed
    /// Over HTTP/2: answered with status 403 and `Forbidden`, which concerns the topic.
    case forbidden
}

/// The manner in which a gateway receives connections.
enum GatewayManner: Equatable, Sendable {
    case works
    /// Nobody listens.
    case closed
    /// The handshake ends with the alert that the client's certificate is revoked.
    case refusesCertificates
    /// After the handshake nothing is read, with next to no room in the kernel: soon nothing more is acknowledged.
    case readsNothing
    /// So much is read of all connections together.
    case slow(bytesPerSecond: Int)
}
