import CRdKafka

/// Questions and requests to a cluster: topics, partitions, positions of groups.
///
/// Every call waits for the brokers: not for event loops. One thread at a time; `close()` before the last reference
/// goes.
public final class KafkaAdmin {
    /// Receives librdkafka's reasons for an unreachable broker, which arrive outside the waiting call.
    private let inbox: KafkaInbox
    private var handle: KafkaHandle?
    /// By group: asks for what it has committed, and never joins it.
    private var groups: [String: KafkaHandle] = [:]
    private let properties: KafkaProperties
    private let brokers: String

    /// Takes the lines of librdkafka's log, at the end of a call that failed to reach a broker and when the client is
    /// closed. It may not call the client.
    public var onLog: ((KafkaLogLine) -> Void)?

    /// - Parameter properties: at least `bootstrap.servers`.
    /// - Throws: `KafkaError`, with `isConfiguration` for a wrong property.
    public init(properties: KafkaProperties) throws(KafkaError) {
        let inbox = KafkaInbox()
        let configuration = try KafkaConfiguration(properties, defaults: [:], isConsumer: false, inbox: inbox)
        handle = try configuration.makeHandle(inbox: inbox)
        self.properties = properties
        brokers = properties["bootstrap.servers"] ?? properties["metadata.broker.list"] ?? "(none configured)"
        self.inbox = inbox
    }

    deinit { precondition(handle == nil, "an admin client is closed before it is let go") }

    /// Frees the client. Idempotent.
    public func close() {
        for handle in [handle].compactMap(\.self) + groups.values { _ = takeReports(handle) }
        handle = nil
        groups = [:]
    }

    /// Checks that a broker answers.
    ///
    /// - Throws: `KafkaError` that names the brokers and the reason why they cannot be reached.
    public func checkReachable(timeoutMilliseconds: Int32) throws(KafkaError) {
        _ = try partitionCounts(timeoutMilliseconds: timeoutMilliseconds)
    }

    /// Every topic of the cluster with its number of partitions. Creates none.
    public func partitionCounts(timeoutMilliseconds: Int32) throws(KafkaError) -> [String: Int] {
        var counts: [String: Int] = [:]
        try forEachTopic(timeoutMilliseconds) { counts[$0] = $1.count }
        return counts
    }

    /// The number of partitions of a topic.
    ///
    /// - Throws: `KafkaError`, with `isUnknownTopicOrPartition` if the topic does not exist.
    public func partitionCount(of topic: String, timeoutMilliseconds: Int32) throws(KafkaError) -> Int {
        guard let count = try partitionCounts(timeoutMilliseconds: timeoutMilliseconds)[topic] else {
            throw Self.missing(topic)
        }
        return count
    }

    /// Checks that a topic can be written to, as far as the brokers tell: each of its partitions has a leader.
    ///
    /// - Throws: `KafkaError` that names a partition without a leader; with `isUnknownTopicOrPartition` if the topic
    ///   does not exist.
    public func checkLeaders(of topic: String, timeoutMilliseconds: Int32) throws(KafkaError) {
        var isThere = false
        var leaderless: Int32?
        try forEachTopic(timeoutMilliseconds) { name, partitions in
            guard name == topic else { return }
            isThere = true
            leaderless = partitions.first { $0.leader < 0 }?.id
        }
        guard isThere else { throw Self.missing(topic) }
        guard let leaderless else { return }
        throw KafkaError(
            RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE,
            "topic \(topic)",
            detail: "partition \(leaderless) has no leader"
        )
    }

    private static func missing(_ topic: String) -> KafkaError {
        KafkaError(RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, "topic \(topic)", detail: "it does not exist")
    }

    private func forEachTopic(
        _ timeoutMilliseconds: Int32,
        _ body: (_ name: String, _ partitions: UnsafeBufferPointer<rd_kafka_metadata_partition>) -> Void
    ) throws(KafkaError) {
        let handle = try openHandle("list of topics")
        var metadata: UnsafePointer<rd_kafka_metadata>?
        // All topics: asking for one by name makes some brokers create it.
        let code = rd_kafka_metadata(handle.pointer, 1, nil, &metadata, timeoutMilliseconds)
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR, let metadata else { throw unreachable(code, handle) }
        defer { rd_kafka_metadata_destroy(metadata) }
        for index in 0..<Int(metadata.pointee.topic_cnt) {
            let topic = metadata.pointee.topics[index]
            guard topic.err == RD_KAFKA_RESP_ERR_NO_ERROR else { continue }
            body(String(cString: topic.topic), .init(start: topic.partitions, count: Int(topic.partition_cnt)))
        }
    }

    /// The number of brokers that are up.
    public func brokerCount(timeoutMilliseconds: Int32) throws(KafkaError) -> Int {
        let handle = try openHandle("list of brokers")
        var metadata: UnsafePointer<rd_kafka_metadata>?
        let code = rd_kafka_metadata(handle.pointer, 0, nil, &metadata, timeoutMilliseconds)
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR, let metadata else { throw unreachable(code, handle) }
        defer { rd_kafka_metadata_destroy(metadata) }
        return Int(metadata.pointee.broker_cnt)
    }

    /// The lowest and highest offsets of a partition.
    public func watermarks(
        of place: KafkaTopicPartition,
        timeoutMilliseconds: Int32
    ) throws(KafkaError) -> KafkaWatermarks {
        try KafkaWatermarks(querying: place, of: openHandle("watermarks"), timeoutMilliseconds: timeoutMilliseconds)
    }

    func openHandle(_ context: String) throws(KafkaError) -> KafkaHandle {
        guard let handle else { throw KafkaError.closed(context) }
        return handle
    }

    /// The client that asks for a group's positions.
    func openHandle(of group: String, _ context: String) throws(KafkaError) -> KafkaHandle {
        _ = try openHandle(context)
        if let known = groups[group] { return known }
        let made = try KafkaHandle.ofGroup(group, properties, inbox: inbox)
        groups[group] = made
        return made
    }

    func unreachable(_ code: rd_kafka_resp_err_t, _ handle: KafkaHandle) -> KafkaError {
        KafkaError(code, "broker \(brokers) unreachable", detail: takeReports(handle))
    }

    /// Hands the lines of the log on.
    ///
    /// - Returns: the reason of the last error reported.
    private func takeReports(_ handle: KafkaHandle) -> String? {
        rd_kafka_poll(handle.pointer, 0)
        var reason: String?
        while let report = inbox.takeReport() {
            switch report {
            case .error(let error):
                // Not "all brokers are down", which gives no reason.
                if error.code != RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN.rawValue { reason = error.message }
            case .log(let line): onLog?(line)
            case .assigned, .revoked, .rebalanceFailed:
                preconditionFailure("an admin client has no group")
            }
        }
        return reason
    }
}
