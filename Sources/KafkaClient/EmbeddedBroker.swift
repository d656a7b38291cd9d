import CRdKafka

/// librdkafka's mock cluster: a broker inside this process that speaks the real wire protocol, groups included.
/// For trying out and for tests. It keeps at most 5 MiB or 100,000 messages per partition and drops the oldest
/// **silently**, forgets everything at its end, creates no topics by the admin protocol, and has no TLS and no usable
/// transactions. Its port is free and random. It runs on threads of its own; this object is used from one at a time.
public final class EmbeddedBroker {
    /// The `bootstrap.servers` of its clients.
    public let bootstrapServers: String

    private var handle: KafkaHandle?
    private var cluster: OpaquePointer?

    /// - Parameters:
    ///   - topics: the topics that exist from the start. Others are created with 4 partitions when a client asks for
    ///     them.
    ///   - brokers: at least 1.
    public init(topics: [(name: String, partitions: Int)], brokers: Int = 1) throws(KafkaError) {
        let inbox = KafkaInbox()
        let configuration = try KafkaConfiguration([:], defaults: [:], isConsumer: false, inbox: inbox)
        let handle = try configuration.makeHandle(inbox: inbox)
        guard let cluster = rd_kafka_mock_cluster_new(handle.pointer, Int32(clamping: brokers)) else {
            throw KafkaError(rd_kafka_last_error(), "embedded broker")
        }
        for topic in topics {
            let code = rd_kafka_mock_topic_create(cluster, topic.name, Int32(clamping: topic.partitions), 1)
            guard code == RD_KAFKA_RESP_ERR_NO_ERROR else {
                rd_kafka_mock_cluster_destroy(cluster)
                throw KafkaError(code, "embedded broker: topic \(topic.name) with \(topic.partitions) partitions")
            }
        }
        bootstrapServers = String(cString: rd_kafka_mock_cluster_bootstraps(cluster))
        self.handle = handle
        self.cluster = cluster
    }

    deinit { precondition(cluster == nil, "an embedded broker is closed before it is let go") }

    /// Cuts all connections and refuses new ones, or ends that: a simulated restart of the broker. The data stays.
    ///
    /// - Parameter broker: counted from 1.
    public func setDown(_ isDown: Bool, broker: Int32 = 1) {
        guard let cluster else { return }
        if isDown {
            rd_kafka_mock_broker_set_down(cluster, broker)
        } else {
            rd_kafka_mock_broker_set_up(cluster, broker)
        }
    }

    /// Leaves a partition without a leader: a simulated loss of the broker with the only copy.
    public func removeLeader(of topic: String, partition: Int32) {
        guard let cluster else { return }
        rd_kafka_mock_partition_set_leader(cluster, topic, partition, -1)
    }

    /// Ends the cluster and its clients' connections. Idempotent.
    public func close() {
        guard let cluster else { return }
        rd_kafka_mock_cluster_destroy(cluster)
        self.cluster = nil
        handle = nil
    }
}
