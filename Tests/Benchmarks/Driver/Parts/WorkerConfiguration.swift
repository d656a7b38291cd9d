/// The configuration file of the worker under test. Everything that is not named here has its default.
struct WorkerConfiguration {
    let brokers: String
    let redis: String
    let gatewayPort: UInt16
    let trust: String
    let certificates: String
    let group: String
    /// Of the app's keys; nil: not checked.
    let spread: Int?
    let shards: Int
    var connectionsPerTopic = 2
    var confirmationWindowSeconds = 2
    /// 0: requests are not remembered.
    var dedupeWindowSeconds = 0
    var hasTokenState = true
    /// As by default; without it Redis is asked for every token, as the floor does.
    var hasFilter = true
    /// The gateway's interface: `binary` or `http2`; nil: the key is left out, which means `binary`, and is understood
    /// by versions that know no other.
    var transport: String?
    var outcomes = "failures"
    /// Of metrics; nil: there is none.
    var operationsPort: Int?
    /// The group's session time-out; nil: librdkafka's.
    var sessionMilliseconds: Int?
    /// The least severe level that is logged.
    var logLevel = "warning"

    private var properties: String {
        sessionMilliseconds.map { "\n  properties: {session.timeout.ms: \"\($0)\"}" } ?? ""
    }

    /// The file's text.
    var yaml: String {
        """
        kafka:
          brokers: \(brokers)\(properties)
        redis:
          url: redis://\(redis)
        environments:
          \(BenchmarkApp.environment):
            gateways: ["127.0.0.1:\(gatewayPort)"]
            trust: \(trust)\(transport.map { "\n    transport: \($0)" } ?? "")
        certificates:
          directory: \(certificates)
        worker:
          group-id: \(group)
          shards: \(shards)
          connections-per-topic: \(connectionsPerTopic)
          confirmation-window: \(confirmationWindowSeconds)s
          dedupe-window: \(dedupeWindowSeconds)s
          token-state: \(hasTokenState)
          tombstone-filter: \(hasFilter)
        outcomes: \(outcomes)
        log:
          level: \(logLevel)
        \(spread.map { "apps: {\(BenchmarkApp.bundle): {spread: \($0)}}" } ?? "")
        \(operationsPort.map { "operations: {listen: \"127.0.0.1:\($0)\"}" } ?? "")

        """
    }
}
