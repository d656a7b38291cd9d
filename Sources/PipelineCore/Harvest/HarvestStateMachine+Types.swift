extension HarvestStateMachine {
    public struct Settings: Hashable, Sendable {
        /// Time from one reading to the next. The service expects one at least daily ([10]).
        public var interval: Duration
        /// The time Redis keeps the lease without a renewal.
        public var lease: Duration
        /// Limit for connecting and handshake together.
        public var connectTimeout: Duration
        /// Longest silence of the service while the harvester listens. A reading that hangs would keep its lease, and
        /// keep off every other harvester, for ever.
        public var silenceLimit = Duration.seconds(60)
        /// Time from a reading that failed, or could not begin, to the next attempt: one failure must not cost an
        /// interval.
        public var retryDelay = Duration.seconds(60)
        /// The longest continuation of a reading after a stop. The unread rest may be lost.
        public var stopPatience = Duration.seconds(20)
        /// The longest wait, from a stop on, for every answer: of the broker, of Redis, of the connection. Longer than
        /// ``stopPatience``: what was read last has yet to be acknowledged.
        public var answerPatience = Duration.seconds(30)

        public init(interval: Duration, lease: Duration, connectTimeout: Duration) {
            self.interval = interval
            self.lease = lease
            self.connectTimeout = connectTimeout
        }

        /// The time a lease is relied upon after it was asked for. The server's clock may run a little faster than
        /// ours.
        var reliableLease: Duration { lease - lease / 10 }
        /// Time from one request for the lease to the next.
        var renewal: Duration { lease / 3 }
        var retry: Duration { min(interval, retryDelay) }
    }

    /// The actions of the shell.
    public enum Effect: Hashable, Sendable {
        /// Find out whether tuples could be published; ``brokerAnswered(_:now:)``.
        case checkBroker
        /// Take the lease, or renew it if it is ours; ``leaseAnswered(_:now:)``.
        case holdLease
        /// Give the lease back if it is ours; ``leaseReleased(now:)``, whatever the result.
        case releaseLease
        /// Connect and shake hands; ``opened(now:)`` or ``ended(failed:byProxy:now:)``.
        case connect
        /// One read of the socket; ``received(bytes:now:)`` or ``ended(failed:byProxy:now:)``.
        case listen
        /// Publish the tuples in the next so many bytes received; ``handedOver(tuples:heldBytes:now:)``.
        case publish(bytes: Int)
        /// Close the connection at once, without reading more; ``ended(failed:byProxy:now:)``.
        case close
        /// A reading is over, and its tuples are acknowledged.
        case report(Reading)
        /// After ``stop(now:)``: nothing more follows.
        case stopped
        /// After ``stop(now:)``, an answer took too long: end at once, whatever is not acknowledged. Nothing more
        /// follows, and no input may.
        case giveUp
    }

    /// The result of one reading.
    public struct Reading: Hashable, Sendable {
        public var tuples = 0
        /// Bytes of a tuple in which the stream ended: they are lost with the connection.
        public var cutBytes = 0
        /// Nil: the list was read to its end.
        public var failure: Failure?

        public init(tuples: Int = 0, cutBytes: Int = 0, failure: Failure? = nil) {
            self.tuples = tuples
            self.cutBytes = cutBytes
            self.failure = failure
        }
    }

    /// The reason why a reading did not reach the list's end.
    public enum Failure: String, Hashable, Sendable, CaseIterable {
        /// No connection, or no handshake, in time.
        case unreachable
        /// The proxy refuses the configured login.
        case proxyRefused = "proxy-refused"
        /// The service said nothing for ``Settings/silenceLimit``.
        case silent
        /// The stream broke, or ended inside a tuple.
        case cut
        /// The lease could not be renewed in time, or belongs to another harvester.
        case leaseLost = "lease-lost"
        /// The role was told to stop, and the reading took too long.
        case stopped
    }

    /// The answer of Redis to ``Effect/holdLease``.
    public enum LeaseAnswer: Hashable, Sendable, CaseIterable {
        case held
        /// The lease belongs to another harvester.
        case refused
        /// No answer, or an error: the lease may be ours.
        case unknown
    }

    /// The machine's current step, for metrics and logs.
    public enum Step: String, Hashable, Sendable, CaseIterable {
        case waiting
        case checking
        case leasing
        case connecting
        case listening
        case publishing
        case releasing
        case stopped
    }
}
