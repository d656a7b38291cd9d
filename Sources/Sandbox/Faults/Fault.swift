import APNsProtocol

/// A misbehaviour that the push service shows on demand. Its parameters lie within ``FaultLimits``.
public struct Fault: Hashable, Sendable {
    /// As in the control interface and in the statistics.
    public enum Name: String, CaseIterable, Sendable {
        case answerDelay = "answer-delay"
        case answerShuffle = "answer-shuffle"
        case closeAfter = "close-after"
        case connectRateLimit = "connect-rate-limit"
        case connectionLimit = "connection-limit"
        case errorResponse = "error-response"
        case feedbackCut = "feedback-cut"
        case goAwayAfter = "goaway-after"
        case muteAfter = "mute-after"
        case refuseCertificates = "refuse-certificates"
        case refuseConnects = "refuse-connects"
        case refuseHandshakes = "refuse-handshakes"
        case requestError = "request-error"
        case resetAfter = "reset-after"
        case roundTrip = "round-trip"
        case sentinelSilence = "sentinel-silence"
        case shutdownAfter = "shutdown-after"
        case silenceAfter = "silence-after"
        case slowReader = "slow-reader"
        case stallAfter = "stall-after"
        case streamCollapse = "stream-collapse"
        case streamLimit = "stream-limit"
        case streamReset = "stream-reset"
        case tokenClock = "token-clock"
        case windowSize = "window-size"
        case windowStall = "window-stall"
    }

    /// The action of a fault. Notifications are counted on each connection from 1.
    public enum Behaviour: Hashable, Sendable {
        /// Every error response, and every answer of the provider API, is sent this much later than it could be.
        case answerDelay(milliseconds: Int64)
        /// Answers of the provider API wait a random time up to this, so that they come in another order.
        case answerShuffle(milliseconds: Int64)
        /// The end of the stream without a packet, as soon as so many were accepted: their fate is unknown to the
        /// provider [talk].
        case closeAfter(count: Int)
        /// "Rapid connecting and disconnecting is treated as denial of service" [10]: connections beyond so many
        /// within any minute are reset.
        case connectRateLimit(perMinute: Int)
        /// Gateway connections of a topic beyond so many at a time are closed on behind their handshake.
        case connectionLimit(count: Int)
        /// Good notifications are refused.
        case errorResponse(Refusal)
        /// The feedback stream ends after so many bytes; the list is cleared all the same [13].
        case feedbackCut(bytes: Int)
        /// The provider API sends GOAWAY.
        case goAwayAfter(GoAway)
        /// As soon as so many were accepted, the provider API takes requests and answers none of them any more, but
        /// everything else.
        case muteAfter(count: Int)
        /// The handshake ends with the alert that the client's certificate is revoked, whosever it is.
        case refuseCertificates
        /// Connections are taken and reset.
        case refuseConnects
        /// The first message of a handshake is answered with a fatal alert.
        case refuseHandshakes
        /// Good requests to the provider API are refused.
        case requestError(RequestError)
        /// A reset without a packet, as soon as so many were accepted.
        case resetAfter(count: Int)
        /// Everything that is read is looked at so much later.
        case roundTrip(milliseconds: Int64)
        /// A notification without token is not answered [field]; what follows it is discarded.
        case sentinelSilence
        /// As soon as so many were accepted: status 10, naming the last of them, which **was** sent [13]; the provider
        /// API sends GOAWAY with the reason `Shutdown`.
        case shutdownAfter(count: Int)
        /// As soon as so many were accepted, the connection stays and nothing is looked at or answered any more: an
        /// idle timer or a firewall has cut it without a word [talk].
        case silenceAfter(count: Int)
        /// No more than so much is read from each connection.
        case slowReader(bytesPerSecond: Int)
        /// As soon as so many were accepted nothing more is read for a while, or (`nil`) until it is cleared. Then it
        /// goes on where it was.
        case stallAfter(count: Int, milliseconds: Int64?)
        /// A rejection leaves a connection to the provider API one stream, until the next success [field].
        case streamCollapse
        /// A connection to the provider API may have no more streams than this at once.
        case streamLimit(count: Int)
        /// Streams end without an answer.
        case streamReset(StreamReset)
        /// The clock that judges provider tokens is so far ahead, or behind: they have expired.
        case tokenClock(seconds: Int)
        /// The windows for bodies are this large, on a stream and on the connection.
        case windowSize(bytes: Int)
        /// Windows for bodies are not given back.
        case windowStall
    }

    /// Refuses notifications that may be correct. States which ones, and the answer.
    public struct Refusal: Hashable, Sendable {
        /// The notifications that are refused.
        public enum Selection: Hashable, Sendable {
            /// The notifications whose number on their connection is a multiple of it.
            case every(Int)
            /// Each notification with this probability, 0...1.
            case probability(Double)
            /// The notifications for these app instances.
            case instances(Set<AppInstance>)
        }

        /// The notification that the answer names.
        public enum Identifier: String, CaseIterable, Sendable {
            /// The refused notification.
            case own
            /// None: the gateway "could not attribute" [field].
            case zero
            /// A notification that was not sent.
            case wrong
        }

        /// Any status but 10, whose identifier would say the contrary.
        public let status: APNsStatus
        /// The notifications that are refused.
        public let selection: Selection
        /// The notification that the answer names.
        public let identifier: Identifier

        /// The defaults are those of the control interface.
        public init(
            status: APNsStatus = .processingError,
            selection: Selection = .every(1),
            identifier: Identifier = .own
        ) {
            precondition(status != .shutdown, "status 10 names what was sent")
            self.status = status
            self.selection = selection
            self.identifier = identifier
        }
    }

    /// The action of the fault.
    public let behaviour: Behaviour

    /// Number of strikes, per topic, before it ends by itself. `nil` = until it is cleared.
    public let times: Int?

    /// Counts and `times` are at least 1.
    public init(_ behaviour: Behaviour, times: Int? = nil) {
        precondition(times.map { $0 >= 1 } ?? true, "a fault that never strikes")
        self.behaviour = behaviour
        self.times = times
    }
}

extension Fault {
    /// The name of the fault.
    public var name: Name {
        switch behaviour {
        case .answerDelay: .answerDelay
        case .answerShuffle: .answerShuffle
        case .closeAfter: .closeAfter
        case .connectRateLimit: .connectRateLimit
        case .connectionLimit: .connectionLimit
        case .errorResponse: .errorResponse
        case .feedbackCut: .feedbackCut
        case .goAwayAfter: .goAwayAfter
        case .muteAfter: .muteAfter
        case .refuseCertificates: .refuseCertificates
        case .refuseConnects: .refuseConnects
        case .refuseHandshakes: .refuseHandshakes
        case .requestError: .requestError
        case .resetAfter: .resetAfter
        case .roundTrip: .roundTrip
        case .sentinelSilence: .sentinelSilence
        case .shutdownAfter: .shutdownAfter
        case .silenceAfter: .silenceAfter
        case .slowReader: .slowReader
        case .stallAfter: .stallAfter
        case .streamCollapse: .streamCollapse
        case .streamLimit: .streamLimit
        case .streamReset: .streamReset
        case .tokenClock: .tokenClock
        case .windowSize: .windowSize
        case .windowStall: .windowStall
        }
    }
}

extension Fault.Name {
    /// The fault strikes before the topic is known. So it concerns the service as a whole.
    public var isOfTheDoor: Bool {
        switch self {
        case .connectRateLimit, .refuseCertificates, .refuseConnects, .refuseHandshakes, .tokenClock: true
        case .answerDelay, .answerShuffle, .closeAfter, .connectionLimit, .errorResponse, .feedbackCut, .goAwayAfter,
            .muteAfter, .requestError, .resetAfter, .roundTrip, .sentinelSilence, .shutdownAfter, .silenceAfter,
            .slowReader, .stallAfter, .streamCollapse, .streamLimit, .streamReset, .windowSize, .windowStall:
            false
        }
    }
}

extension Fault.Refusal.Identifier {
    /// The identifier in the answer to a notification whose identifier is `own`.
    ///
    /// The wrong one is half the number space away, which no connection gets through; it is never 0, since that says
    /// something else.
    func named(for own: UInt32) -> UInt32 {
        switch self {
        case .own: own
        case .zero: 0
        case .wrong: own == 1 << 31 ? own + 1 : own &+ 1 << 31
        }
    }
}
