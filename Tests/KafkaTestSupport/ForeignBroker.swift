import Foundation
import KafkaClient
import Workbench

/// A Kafka broker in another process, not made of librdkafka: PyPI's `noida-db`.
///
/// The command is named by the environment variable `BELFRY_TEST_BROKER_COMMAND`; without it tests fail, they are not
/// skipped. It ends when it is told to, and when this process ends, however that ends. It answers a fetch that finds
/// nothing at once, so that its consumers ask without a pause; hence its low priority.
public final class ForeignBroker {
    public struct Failure: Error, CustomStringConvertible {
        public var description: String

        public init(description: String) {
            self.description = description
        }
    }

    public let bootstrapServers: String
    private let arguments: [String]
    private let directory: String
    private var process: ChildProcess?

    public static let commandVariable = "BELFRY_TEST_BROKER_COMMAND"

    /// A shell stands between: it starts the command in a process group of its own and ends that group when its own
    /// input ends.
    private static let guardian = #"setsid nice -n 10 "$@" 2>/dev/null & read -r _; kill -s TERM -- "-$!"; wait "$!""#

    /// Starts a broker on a free port and waits until it answers.
    public init() throws {
        guard let command = ProcessInfo.processInfo.environment[Self.commandVariable] else {
            throw Failure(description: "\(Self.commandVariable) names no broker to test against")
        }
        let port = try freePort()
        directory = NSTemporaryDirectory() + "belfry-broker-\(UUID().uuidString)"
        bootstrapServers = "127.0.0.1:\(port)"
        arguments = [command, "start", "--only", "kafka", "--kafka-port", "\(port)", "--data-dir", directory]
        try start()
    }

    deinit { stop() }

    /// Starts it again with the data it had.
    public func start() throws {
        process = try ChildProcess(
            "broker",
            executable: "/bin/sh",
            arguments: ["-c", Self.guardian, "guardian"] + arguments,
            takesInput: true
        )
        let admin = try KafkaAdmin(properties: ["bootstrap.servers": bootstrapServers])
        defer { admin.close() }
        try admin.checkReachable(timeoutMilliseconds: 30_000)
    }

    /// Ends it and waits until all of it has ended; the data stays until this object goes. Idempotent.
    public func stop() {
        guard let process else { return }
        self.process = nil
        process.closeInput()
        // It ends with the last process of the command's group, which may be later than the one that was started.
        process.outputToEnd()
        _ = process.wait()
    }

    /// Ends it for good.
    public func remove() {
        stop()
        try? FileManager.default.removeItem(atPath: directory)
    }
}
