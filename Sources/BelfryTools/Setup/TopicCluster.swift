import KafkaClient

/// The part of a cluster that the set-up of topics needs. The contract is that of ``KafkaAdmin``.
protocol TopicCluster {
    func partitionCounts(timeoutMilliseconds: Int32) throws(KafkaError) -> [String: Int]
    func brokerCount(timeoutMilliseconds: Int32) throws(KafkaError) -> Int
    func createTopic(
        _ name: String,
        partitions: Int,
        replication: Int,
        configuration: [(String, String)],
        timeoutMilliseconds: Int32
    ) throws(KafkaError) -> Bool
}

extension KafkaAdmin: TopicCluster {}
