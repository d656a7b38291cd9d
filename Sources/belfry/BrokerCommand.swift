import ArgumentParser
import BelfrySupport
import BelfryTools
import Logging
import PushTopics

/// `belfry broker`.
struct BrokerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "broker",
        abstract: "Run an embedded Kafka broker with the contract's topics, for trying out.",
        discussion: """
            It keeps at most 5 MiB or 100,000 messages per partition, drops the oldest silently beyond that, and \
            forgets everything when it ends. When it is ready, one line of JSON with the address is printed. Runs \
            until SIGTERM or SIGINT.
            """
    )

    @Option(help: "Partitions of each topic.")
    var partitions = 12

    @Option(help: "Port of the loopback address at which clients find it; none, or 0: a free one.")
    var port: UInt16?

    func validate() throws {
        if !(1...1000).contains(partitions) { throw ValidationError("--partitions: 1...1000 are allowed") }
    }

    func run() async throws {
        ProcessLog.begin(level: .warning)
        let role = EmbeddedBrokerRole(TopicLayout(partitions: partitions), port: port.map { Int($0) }) { brokers in
            StandardStream.output.write(Array(#"{"brokers":"\#(brokers)"}"#.utf8) + [UInt8(ascii: "\n")])
        }
        try await RoleRunner.run(role, logger: Logger(label: "belfry.broker"))
    }
}
