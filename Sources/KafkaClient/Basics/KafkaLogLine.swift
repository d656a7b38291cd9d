/// One line of librdkafka's log.
public struct KafkaLogLine: Hashable, Sendable {
    /// As in syslog: 0 emergency … 3 error, 4 warning, 5 notice, 6 info, 7 debug.
    public let level: Int32
    /// librdkafka's name of the subject, such as `FAIL` or `REBALANCE`.
    public let facility: String
    public let message: String
}
