import Foundation
import KafkaClient
import TestSupport

/// A Kafka broker in another process, not made of librdkafka: PyPI's `noida-db`.
///
/// The command is named by the environment variable `BELFRY_TEST_BROKER_COMMAND`; without it tests fail, they are not
/// skipped.
final class ForeignBroker {
    struct Failure: Error, CustomStringConvertible {
        var description: String
    }

    let bootstrapServers: String
    private let arguments: [String]
    private let directory: String
    private var process: GuardedProcess?

    static let commandVariable = "BELFRY_TEST_BROKER_COMMAND"

    /// Starts a broker on a free port and waits until it answers.
    init() throws {
        guard let command = ProcessInfo.processInfo.environment[Self.commandVariable] else {
            throw Failure(description: "\(Self.commandVariable) names no broker to test against")
        }
        let port = try freePort()
        directory = NSTemporaryDirectory() + "belfry-broker-\(UUID().uuidString)"
        bootstrapServers = "127.0.0.1:\(port)"
        arguments = [command, "start", "--only", "kafka", "--kafka-port", "\(port)", "--data-dir", directory]
        try start()
    }

    /// Starts it again with the data it had.
    func start() throws {
        process = try GuardedProcess(arguments)
        let admin = try KafkaAdmin(properties: ["bootstrap.servers": bootstrapServers])
        defer { admin.close() }
        try admin.checkReachable(timeoutMilliseconds: 30_000)
    }

    /// Ends it; the data stays until this object goes.
    func stop() {
        process?.stop()
        process = nil
    }

    /// Ends it for good.
    func remove() {
        stop()
        try? FileManager.default.removeItem(atPath: directory)
    }
}
