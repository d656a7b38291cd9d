import APNsProtocol

/// A misbehaviour that the gateway shows on demand.
public struct Fault: Hashable, Sendable {
    /// As in the control interface and in the statistics.
    public enum Name: String, CaseIterable, Sendable {
        case answerDelay = "answer-delay"
        case closeAfter = "close-after"
        case errorResponse = "error-response"
        case shutdownAfter = "shutdown-after"
    }

    /// What is done. Notifications are counted on each connection from 1.
    public enum Behaviour: Hashable, Sendable {
        /// Every error response is sent this much later than it could be.
        case answerDelay(milliseconds: Int64)
        /// The end of the stream without a packet, as soon as so many were accepted: their fate is unknown to the
        /// provider [talk].
        case closeAfter(count: Int)
        /// The notification with this number is refused with this status, whatever it is; `identifierZero` makes the
        /// answer one that "could not attribute" [field].
        case errorResponse(status: APNsStatus, every: Int, identifierZero: Bool)
        /// As soon as so many were accepted: status 10, naming the last of them, which **was** sent [13].
        case shutdownAfter(count: Int)
    }

    /// What is done.
    public let behaviour: Behaviour

    /// How often, per topic, before it ends by itself; `nil` = until it is cleared.
    public let times: Int?

    /// Counts and `times` are at least 1.
    public init(_ behaviour: Behaviour, times: Int? = nil) {
        self.behaviour = behaviour
        self.times = times
    }

    /// Which of the faults it is.
    public var name: Name {
        switch behaviour {
        case .answerDelay: .answerDelay
        case .closeAfter: .closeAfter
        case .errorResponse: .errorResponse
        case .shutdownAfter: .shutdownAfter
        }
    }
}
