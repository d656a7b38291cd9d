/// `GET /stats`: the field names are the contract.
struct StatsDocument: Encodable {
    /// See ``SandboxTopicCounters``; `distinct` counts (token, value of the custom payload key `n`).
    struct Topic: Encodable {
        /// Of both interfaces.
        let accepted: Int
        let distinct: Int
        /// Only there, and true, when more pairs came than are remembered: `distinct` is too low then.
        let distinctIncomplete: Bool?
        /// By status, or for the provider API by status and reason: `8`, `400 BadDeviceToken`.
        let rejected: [String: Int]
        let discarded: Int
        let delivered: Int
        let stored: Int
        let coalesced: Int
        let expired: Int
        let feedback: Int
        let feedbackList: FeedbackList
        let evicted: Int
        let held: Int
        let invalidJSON: Int
        let devices: Devices
        let channels: Channels
        /// Accepted notifications by the title of their alert; only there when titles are counted.
        let titles: [String: Int]?
    }

    /// A topic's channels. Broadcasts stand in no other count but `rejected`.
    struct Channels: Encodable {
        /// Channels there are.
        let registered: Int
        /// Subscriptions to them.
        let subscribers: Int
        /// Broadcasts taken.
        let accepted: Int
        /// Reached a subscriber.
        let delivered: Int
        /// Wait for a subscriber now.
        let stored: Int
        /// Did not reach a subscriber.
        let missed: Int
    }

    /// Counts of a topic's feedback.
    struct FeedbackList: Encodable {
        /// In the list now.
        let waiting: Int
        /// Taken from it by readers, since the start.
        let taken: Int
        /// Of these: arrived in a reader's system, which has acknowledged them by TCP. What the reader made of them is
        /// not known here. A connection's last ones are counted when it ends.
        let arrived: Int
    }

    /// Number of a topic's devices in each state.
    struct Devices: Encodable {
        let online: Int
        let offline: Int
        let uninstalled: Int
        let removed: Int
    }

    /// Gateway, provider API and feedback service together.
    struct Connections: Encodable {
        let open: Int
        let total: Int
        let refused: Int
    }

    /// The courier.
    struct Courier: Encodable {
        /// Connected now.
        let connected: Int
        /// Connections since the start.
        let total: Int
        /// Of these: the handshake failed, or the service ended the connection for what the device did.
        let refused: Int
        /// Notifications that a device did not read, all counted as delivered.
        let dropped: Int
    }

    /// The provider API, as far as it is no topic's.
    struct API: Encodable {
        /// Requests that were refused and name no topic that is served, by status and reason.
        let rejected: [String: Int]
        /// GOAWAYs that were sent, by the reason in their debug data, or by the code without one.
        let goAways: [String: Int]
        /// Streams that were reset by the service, by the code.
        let resets: [String: Int]
    }

    let topics: [String: Topic]
    let api: API
    let courier: Courier
    let connections: Connections
    /// Open connections by the serial number of the certificate that the provider has shown, as `openssl x509 -serial`
    /// prints it; only there when there are any.
    let certificates: [String: Int]?
    /// Number of times each fault struck, over all topics. Faults that were never on are left out.
    let faults: [String: Int]
    /// Acceptances that did not get into the file they should be in; only there when there is such a file.
    let acceptedLogDropped: Int?

    /// A snapshot: each topic consistent in itself.
    init(of service: PushService) {
        var topics: [String: Topic] = [:]
        var faults = Dictionary(
            uniqueKeysWithValues: service.withDoor { $0.strikes }.map { ($0.key.rawValue, $0.value) }
        )
        for topic in service.topics {
            let (tally, strikes) = topic.withLedger { (Topic($0), $0.faults.strikes) }
            topics[topic.name] = tally
            for (name, count) in strikes {
                faults[name.rawValue, default: 0] += count
            }
        }
        self.topics = topics
        self.faults = faults
        let dismissals = service.dismissals
        api = API(
            rejected: service.refusalsWithoutTopic.byName,
            goAways: dismissals.goAways,
            resets: dismissals.resets
        )
        let couriers = service.courier.counters
        courier = Courier(
            connected: couriers.connected,
            total: couriers.total,
            refused: couriers.refused,
            dropped: service.topics.reduce(0) { sum, topic in sum + topic.withLedger { $0.outbox.dropped } }
        )
        let connections = service.connections
        self.connections = Connections(
            open: connections.open,
            total: connections.total,
            refused: connections.refused
        )
        certificates = connections.byCertificate.isEmpty ? nil : connections.byCertificate
        acceptedLogDropped = service.isRecording ? service.acceptedLogDropped : nil
    }
}

extension StatsDocument.Topic {
    init(_ ledger: DeviceLedger) {
        let counters = ledger.counters
        accepted = counters.accepted
        distinct = ledger.memory.count
        distinctIncomplete = ledger.memory.isFull ? true : nil
        rejected = counters.requestRefusals.byName.merging(
            counters.rejected.map { ("\($0.status.rawValue)", $0.count) },
            uniquingKeysWith: +
        )
        discarded = counters.discarded
        delivered = counters.delivered
        stored = counters.stored
        coalesced = counters.coalesced
        expired = counters.expired
        feedback = counters.feedback
        feedbackList = StatsDocument.FeedbackList(
            waiting: ledger.feedback.count,
            taken: ledger.feedbackTaken,
            arrived: ledger.feedbackArrived
        )
        evicted = counters.evicted
        held = counters.held
        invalidJSON = counters.invalidJSON
        let states = ledger.population.counts
        devices = StatsDocument.Devices(
            online: states.online,
            offline: states.offline,
            uninstalled: states.uninstalled,
            removed: states.removed
        )
        let broadcasts = ledger.channels.counters
        channels = StatsDocument.Channels(
            registered: ledger.channels.count,
            subscribers: ledger.channels.subscribers,
            accepted: broadcasts.accepted,
            delivered: broadcasts.delivered,
            stored: broadcasts.stored,
            missed: broadcasts.missed
        )
        titles = ledger.titles.isCounting ? ledger.titles.counts : nil
    }
}
