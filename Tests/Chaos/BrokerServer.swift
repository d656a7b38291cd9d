import Foundation
import Glibc
import KafkaClient
import LocalPipeline
import Workbench

/// The broker in another process, which keeps its data when it is stopped in order: PyPI's `noida-db`.
///
/// It holds everything in memory and writes it down when it stops. Unlike Kafka it ends no session by itself: the
/// thread that kills a member has to take it out of the group when its session would have ended. It also answers a
/// fetch that finds nothing at once, so that its consumers ask without a pause; hence its low priority, by which they
/// leave the processors to the pipeline.
final class BrokerServer {
    let port: Int
    private let command: String
    private let directory: String
    private var process: ChildProcess?
    private var started = 0
    /// The longest time from the order to stop until it answered again.
    private(set) var longestOutage = Duration.zero
    private var stoppedAt: ContinuousClock.Instant?

    static let commandVariable = "BELFRY_TEST_BROKER_COMMAND"
    /// Time to write the data down.
    static let patience = Duration.seconds(60)

    /// - Parameter directory: for data and logs.
    init(directory: String) throws {
        guard let command = ProcessInfo.processInfo.environment[Self.commandVariable] else {
            throw ChaosError("\(Self.commandVariable) names no broker")
        }
        self.command = command
        self.directory = directory
        port = try freePort()
        try start()
    }

    var address: String { "127.0.0.1:\(port)" }

    /// Starts it, again with the data it had, and returns when it answers.
    func start() throws {
        started += 1
        let process = try ChildProcess(
            "broker",
            executable: "/usr/bin/nice",
            arguments: [
                "-n", "10", command, "start", "--only", "kafka", "--kafka-port", "\(port)",
                "--data-dir", "\(directory)/broker",
            ],
            logFile: "\(directory)/broker-\(started).log",
            leadsGroup: true
        )
        self.process = process
        let admin = try KafkaAdmin(properties: ["bootstrap.servers": address])
        defer { admin.close() }
        try admin.checkReachable(timeoutMilliseconds: 30_000)
        if let stoppedAt { longestOutage = max(longestOutage, .now - stoppedAt) }
        stoppedAt = nil
    }

    /// Throws if a log ends before what was read from it.
    ///
    /// - Parameter seen: the offset after the last one read, by place.
    func checkEnds(of seen: [KafkaTopicPartition: Int64]) throws {
        let admin = try KafkaAdmin(properties: ["bootstrap.servers": address])
        defer { admin.close() }
        for place in seen.keys.sorted() {
            let end = try admin.watermarks(of: place, timeoutMilliseconds: 30_000).high
            if let complaint = LogWitness.check(end: end, of: place, against: seen) { throw ChaosError(complaint) }
        }
    }

    /// Stops it in order and returns when all of it has ended.
    ///
    /// - Returns: false: it had to be killed while it wrote its data down, and part of that may be missing.
    @discardableResult
    func stop() -> Bool {
        guard let process else { return true }
        self.process = nil
        stoppedAt = .now
        // The command is a script whose child is the broker: the group ends later than its leader.
        process.terminate()
        let deadline = ContinuousClock.now + Self.patience
        var isInOrder = true
        while kill(-process.processIdentifier, 0) == 0 {
            if ContinuousClock.now > deadline {
                isInOrder = false
                kill(-process.processIdentifier, SIGKILL)
            }
            // Nothing tells when a process that is not our child has ended.
            poll(nil, 0, 5)
        }
        return isInOrder
    }
}

extension ContinuousClock.Instant {
    fileprivate static func - (left: Self, right: Self) -> Duration {
        right.duration(to: left)
    }
}
