import RequestLanes

extension RoleStatus {
    public struct Process: Codable, Sendable, Equatable {
        public var residentBytes: Int
        public var cpuSeconds: Double
        public var openDescriptors: Int?
    }

    /// The readings of the configuration at SIGHUP.
    public struct Configuration: Codable, Sendable, Equatable {
        /// Times that it was read and taken since the start.
        public var reloads: Int
        /// Times that it was wrong, so that nothing changed.
        public var refusedReloads: Int
        /// Keys of the configuration read last that need a new start.
        public var restartNeeded: [PendingSetting]

        public init(reloads: Int, refusedReloads: Int, restartNeeded: [PendingSetting]) {
            self.reloads = reloads
            self.refusedReloads = refusedReloads
            self.restartNeeded = restartNeeded
        }
    }

    /// A key with another value in the configuration than the process works by.
    public struct PendingSetting: Codable, Sendable, Equatable {
        public var key: String
        /// In words for people, as is `configured`; never a secret.
        public var inForce: String
        public var configured: String

        public init(key: String, inForce: String, configured: String) {
            self.key = key
            self.inForce = inForce
            self.configured = configured
        }
    }

    /// An assigned partition of a Kafka topic that the role reads; a worker reads one for each lane.
    public struct Partition: Codable, Sendable, Equatable {
        public var kafkaTopic: String
        public var number: Int32
        /// Records not behind the lowest cursor; absent before the first fetch.
        public var lagRecords: Int64?
        /// Records still to be read for topics that work; absent where topics have no cursors of their own.
        public var waitingRecords: Int64?
        /// Topics that are fed from their own cursors.
        public var behindTopics = 0
        /// It stands: its commit is missing, or its metadata not understood.
        public var isStanding = false

        public init(kafkaTopic: String, number: Int32, lagRecords: Int64?) {
            self.kafkaTopic = kafkaTopic
            self.number = number
            self.lagRecords = lagRecords
        }
    }

    /// A bundle in an environment.
    public struct Topic: Codable, Sendable, Equatable {
        public var topic: String
        public var environment: String
        /// Absent: it works. Else the reason, as in `belfry_topic_stopped`.
        public var stoppedBecause: String?
        private var paused: Bool?
        /// Lanes of requests that an operator paused, in their order; absent: none.
        public var pausedLanes: [String]?
        /// Most notifications a second of all workers together, by an operator's order, of several lanes the highest;
        /// absent: no limit.
        public var pace: Int?
        /// Lanes with a pace, in their order; absent: none.
        public var pacedLanes: [String]?
        /// Requests published before are discarded, by an operator's order, of several lanes the latest.
        public var discardsBefore: Time?
        /// Lanes whose requests are discarded, in their order; absent: none.
        public var discardingLanes: [String]?
        /// Offsets between its cursors and the ends of the partitions in which it lags.
        public var lagRecords: Int64 = 0
        /// In the partitions in which it lags.
        public var cursors: [Cursor] = []
        /// Since the record at its oldest cursor was published; absent where it does not lag, or that is not known yet.
        public var cursorAgeSeconds: Double?
        /// Since its oldest notification without an outcome was taken in; absent when all have theirs.
        public var oldestUnconfirmedSeconds: Double?
        public var inFlight = 0
        public var waiting = 0
        public var openConnections = 0
        public var heldBytes = 0
        /// Accepted, or presumed to be, since the start.
        public var accepted = 0

        public init(topic: String, environment: String) {
            self.topic = topic
            self.environment = environment
        }

        /// An operator let nothing of it be sent, in one lane at least. JSON has it as `paused`, and only where it is
        /// true.
        public var isPaused: Bool {
            get { paused == true }
            set { paused = newValue ? true : nil }
        }
    }

    public struct Cursor: Codable, Sendable, Equatable {
        /// Nil: the normal one.
        public var lane: String?
        public var partition: Int32
        public var offset: Int64

        public init(lane: RequestLane = .normal, partition: Int32, offset: Int64) {
            self.lane = lane == .normal ? nil : lane.rawValue
            self.partition = partition
            self.offset = offset
        }
    }

    /// The gateways of an environment, and the connections to them.
    public struct Environment: Codable, Sendable, Equatable {
        public var environment: String
        /// `binary` or `http2`.
        public var transport: String
        /// `host:port`, as configured.
        public var addresses: [String]
        /// By state: `connecting`, `open`, `draining`, `waiting`.
        public var connections: [String: Int]

        public init(environment: String, transport: String, addresses: [String], connections: [String: Int]) {
            self.environment = environment
            self.transport = transport
            self.addresses = addresses
            self.connections = connections
        }
    }

    public struct Certificate: Codable, Sendable, Equatable {
        public var topic: String
        public var environment: String
        public var notAfter: Time
        /// Whole days; negative once it has ended.
        public var daysLeft: Int

        /// - Parameters:
        ///   - notAfter: UNIX seconds.
        ///   - now: likewise.
        public init(topic: String, environment: String, notAfter: Int64, now: Double) {
            self.topic = topic
            self.environment = environment
            self.notAfter = Time(unixSeconds: Double(notAfter))
            daysLeft = Int(((Double(notAfter) - now) / 86_400).rounded(.down))
        }
    }

    /// A key that signs provider tokens. Keys do not expire; their tokens do after an hour.
    public struct ProviderKey: Codable, Sendable, Equatable {
        public var team: String
        public var key: String
        /// Since the date in its latest token.
        public var tokenAgeSeconds: Double

        public init(team: String, key: String, tokenAgeSeconds: Double) {
            self.team = team
            self.key = key
            self.tokenAgeSeconds = tokenAgeSeconds
        }
    }

    /// A feedback list.
    public struct Harvest: Codable, Sendable, Equatable {
        public var topic: String
        public var environment: String
        /// Since it was read to its end, or since the start.
        public var ageSeconds: Double
        public var step: String
        public var holdsLease: Bool
        /// Tuples read that the broker has not acknowledged.
        public var unacknowledged: Int

        public init(
            topic: String,
            environment: String,
            ageSeconds: Double,
            step: String,
            holdsLease: Bool,
            unacknowledged: Int
        ) {
            self.topic = topic
            self.environment = environment
            self.ageSeconds = ageSeconds
            self.step = step
            self.holdsLease = holdsLease
            self.unacknowledged = unacknowledged
        }
    }

    /// Times of notifications over one transport, since the start, counted in classes whose bounds double.
    public struct Delivery: Codable, Sendable, Equatable {
        /// `binary` or `http2`.
        public var transport: String
        /// Of their topics: `live`, or `lagging`, fed from their own cursors.
        public var topicClass: String
        /// Upper bounds of the classes, ascending; one more class follows, which has none.
        public var boundsSeconds: [Double]
        /// Notifications by the time from their publishing to the gateway, class by class.
        public var handedOver: [Int]
        /// Notifications by the time from there to their outcomes, likewise.
        public var settled: [Int]

        public init(
            transport: String,
            topicClass: String,
            boundsSeconds: [Double],
            handedOver: [Int],
            settled: [Int]
        ) {
            self.transport = transport
            self.topicClass = topicClass
            self.boundsSeconds = boundsSeconds
            self.handedOver = handedOver
            self.settled = settled
        }
    }

    /// The figures that say whether more processes would help.
    public struct Scaling: Codable, Sendable, Equatable {
        /// Records still to be read for topics that work: those of stopped topics need no more workers.
        public var waitingRecords: Int64
        /// Records taken in, over ``ratePeriodSeconds``.
        public var recordsPerSecond: Double
        /// At most a minute or two; less soon after the start.
        public var ratePeriodSeconds: Double
        /// Partitions of this process: with one, more processes do not help it.
        public var partitions: Int

        public init(waitingRecords: Int64, recordsPerSecond: Double, ratePeriodSeconds: Double, partitions: Int) {
            self.waitingRecords = waitingRecords
            self.recordsPerSecond = recordsPerSecond
            self.ratePeriodSeconds = ratePeriodSeconds
            self.partitions = partitions
        }
    }
}

extension RoleStatus {
    /// Adds the figures of the process; nil: the system does not tell.
    mutating func addProcess(_ figures: ProcessFigures?) {
        guard let figures else { return }
        uptimeSeconds = max(0, now.unixSeconds - figures.startedAt)
        process = Process(
            residentBytes: figures.residentBytes,
            cpuSeconds: figures.cpuSeconds,
            openDescriptors: figures.openDescriptors
        )
    }
}
