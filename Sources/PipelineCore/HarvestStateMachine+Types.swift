extension HarvestStateMachine {
    public struct Settings: Hashable, Sendable {
        /// From one reading to the next. At least daily is due ([10]).
        public var interval: Duration
        /// For how long Redis keeps the lease without a renewal.
        public var lease: Duration
        /// Connecting and handshake together.
        public var connectTimeout: Duration
        /// How long the service may say nothing while it is listened to: a reading that hangs would keep its lease, and with
        /// it every other harvester, for ever.
        public var silenceLimit = Duration.seconds(60)
        /// From a reading that failed, or could not begin, to the next attempt: one failure must not cost an interval.
        public var retryDelay = Duration.seconds(60)
        /// How long a stop lets a reading go on: what is left unread may be lost.
        public var stopPatience = Duration.seconds(20)

        public init(interval: Duration, lease: Duration, connectTimeout: Duration) {
            self.interval = interval
            self.lease = lease
            self.connectTimeout = connectTimeout
        }

        /// How long after it was asked for a lease is relied upon: the server's clock may run a little faster than ours.
        var reliableLease: Duration { lease - lease / 10 }
        /// From asking for the lease to asking again.
        var renewal: Duration { lease / 3 }
        var retry: Duration { min(interval, retryDelay) }
    }

    /// What the shell does.
    public enum Effect: Hashable, Sendable {
        /// Find out whether what is read could be published; ``brokerAnswered(_:now:)``.
        case checkBroker
        /// Take the lease, or hold it for longer if it is ours; ``leaseAnswered(_:now:)``.
        case holdLease
        /// Give it back if it is ours; ``leaseReleased(now:)``, whatever becomes of it.
        case releaseLease
        /// Connect and shake hands; ``opened(now:)`` or ``ended(failed:now:)``.
        case connect
        /// One read of the socket; ``received(bytes:now:)`` or ``ended(failed:now:)``.
        case listen
        /// Publish the tuples in the next so many bytes of what was received; ``handedOver(tuples:heldBytes:now:)``.
        case publish(bytes: Int)
        /// Close the connection at once, without reading more; ``ended(failed:now:)``.
        case close
        /// A reading is over, and what it read is acknowledged.
        case report(Reading)
        /// After ``stop(now:)``: there is nothing more to come.
        case stopped
    }

    /// What one reading brought.
    public struct Reading: Hashable, Sendable {
        public var tuples = 0
        /// The stream ended inside a tuple: so many bytes of it are lost with the connection.
        public var cutBytes = 0
        /// Nil: the list was read to its end.
        public var failure: Failure?

        public init(tuples: Int = 0, cutBytes: Int = 0, failure: Failure? = nil) {
            self.tuples = tuples
            self.cutBytes = cutBytes
            self.failure = failure
        }
    }

    /// Why a reading did not reach the list's end.
    public enum Failure: String, Hashable, Sendable, CaseIterable {
        /// No connection, or no handshake, in time.
        case unreachable
        /// The service said nothing for ``Settings/silenceLimit``.
        case silent
        /// The stream broke, or ended inside a tuple.
        case cut
        /// The lease could not be renewed in time, or is somebody else's.
        case leaseLost = "lease-lost"
        /// The role was told to stop, and the reading took too long.
        case stopped
    }

    /// What Redis says to ``Effect/holdLease``.
    public enum LeaseAnswer: Hashable, Sendable, CaseIterable {
        case held
        /// It is somebody else's.
        case refused
        /// No answer, or an error: it may be ours.
        case unknown
    }

    /// Where it stands, for those who watch.
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
