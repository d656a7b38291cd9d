import Foundation

extension Servers {
    private static let frontMilliseconds: Int32 = 10_000

    /// The embedded broker behind one in C that keeps the records of one Kafka topic: see
    /// `Tests/Benchmarks/Broker/broker.c`. Returns its `host:port`.
    ///
    /// - Parameter topic: whose fetches are answered as soon as there are records.
    func startFrontBroker(topic: String, partitions: Int) throws -> String {
        let child = try start(
            "front-broker",
            program: programs.broker,
            arguments: [
                "--upstream", try startBroker(partitions: partitions), "--topic", topic,
                "--partitions", "\(partitions)",
            ]
        )
        let line = try child.line(within: Self.frontMilliseconds)
        guard let ready = try? JSONDecoder().decode([String: String].self, from: Data(line.utf8)),
            let brokers = ready["brokers"]
        else { throw BenchmarkError("broker: not the line expected: \(line)") }
        return brokers
    }
}
