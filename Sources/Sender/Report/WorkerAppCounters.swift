import BelfrySupport
import PipelineCore
import TLSTransport

/// A shard's counters for the connections of one bundle in one environment.
struct WorkerAppCounters: Equatable, Sendable {
    /// Notifications that the gateway accepted, or is presumed to have.
    var accepted = 0
    var connects = 0
    var disconnects = [Int](repeating: 0, count: DisconnectReason.allCases.count)
    /// Connections that others replaced, by reason.
    var rotations = [Int](repeating: 0, count: ConnectionRotation.Reason.allCases.count)
    /// Error responses by status.
    var errorResponses: [UInt16: Int] = [:]
    /// Errors of the provider API by their reasons.
    var reasons: [String: Int] = [:]
    var resent = 0
    var presumedWrong = 0
    /// Notifications that went over a lane of probation.
    var onProbation = 0
    /// Notifications sent although their texts have a number that their outcomes warn of.
    var sensitive = 0
    /// Notifications that went from the lane urgent into the lane normal, over the quota.
    var moved = 0
    /// Records in partitions to which their keys do not lead.
    var misplaced = 0

    mutating func count(_ reason: DisconnectReason) {
        disconnects[reason.rawValue] += 1
    }

    mutating func count(_ reason: ConnectionRotation.Reason) {
        rotations[reason.rawValue] += 1
    }
}

/// The reason why a gateway connection ended, or was never made.
enum DisconnectReason: Int, CaseIterable, Sendable {
    /// The gateway answered with an error response, and closes after that [10].
    case errorResponse
    /// Status 10: the gateway is going down [13].
    case shutdown
    /// The gateway closed silently [talk].
    case endOfStream
    /// The network, or TLS, failed.
    case failure
    /// The gateway refuses our certificate.
    case certificateRefused
    /// The proxy refuses the configured login.
    case proxyRefused
    /// The connection could not be made.
    case connectFailed
    /// We closed it.
    case closedHere
    /// The gateway takes no more streams on it (HTTP/2).
    case goAway

    /// The reason why a connection ended that we did not close.
    ///
    /// - Parameters:
    ///   - error: nil: the peer ended it without a word.
    ///   - wasOpen: the handshake was over.
    init(endedBy error: (any Error)?, wasOpen: Bool) {
        if (error as? TLSError)?.isCertificateRefused == true {
            self = .certificateRefused
        } else if (error as? ProxyFailure)?.isLoginRefused == true {
            self = .proxyRefused
        } else if !wasOpen {
            self = .connectFailed
        } else {
            self = error == nil ? .endOfStream : .failure
        }
    }

    /// The reason as a label.
    var name: String {
        switch self {
        case .errorResponse: "error-response"
        case .shutdown: "shutdown"
        case .endOfStream: "end-of-stream"
        case .failure: "failure"
        case .certificateRefused: "certificate-refused"
        case .proxyRefused: "proxy-refused"
        case .connectFailed: "connect-failed"
        case .closedHere: "closed-here"
        case .goAway: "go-away"
        }
    }
}
