import Foundation
import Glibc
import KafkaClient

/// A Kafka broker in another process, not made of librdkafka: PyPI's `noida-db`.
///
/// The command is named by the environment variable `BELFRY_TEST_BROKER_COMMAND`; without it tests fail, they are not skipped.
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
        let port = try Self.freePort()
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

    private static func freePort() throws -> UInt16 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { throw Failure(description: "no socket") }
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(descriptor, address, size) == 0 ? getsockname(descriptor, address, &size) : -1
            }
        }
        guard result == 0 else { throw Failure(description: "no free port") }
        return UInt16(bigEndian: address.sin_port)
    }
}
