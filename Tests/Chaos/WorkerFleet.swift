import Foundation
import Glibc
import LocalPipeline
import Workbench

/// The workers that run, and those that did.
///
/// Owned by one thread.
final class WorkerFleet {
    struct Worker {
        let process: ChildProcess
        /// Of its consumers.
        let clientID: String
    }

    private(set) var running: [Worker] = []
    /// Told to stop.
    private(set) var stopping: [Worker] = []
    private(set) var killed: [Worker] = []
    private(set) var complaints: [String] = []
    private(set) var startedCount = 0
    /// Client IDs of those that were told to stop and have ended.
    private var gone: Set<String> = []
    /// Ended ones that the broker may still take for members.
    private var ghosts: [(clientID: String, sessionEnd: ContinuousClock.Instant)] = []
    private let pipeline: LocalPipeline
    private let assignment: ChaosRun.Assignment
    private let brokerPort: Int
    private let meter: WorkerMeter

    static let group = "belfry-worker"
    /// `session.timeout.ms` of the pipeline's configuration.
    private static let session = Duration.seconds(6)
    /// `max.poll.interval.ms` of the workers, which is also how long the broker lets a group wait for a member that
    /// does not join again. With the broker used here a group now and then does wait although all have asked to join;
    /// by default that would be five minutes.
    private static let rebalanceMilliseconds = 15_000
    private static let patience = Duration.seconds(60)

    init(pipeline: LocalPipeline, assignment: ChaosRun.Assignment, brokerPort: Int, meter: WorkerMeter) {
        self.pipeline = pipeline
        self.assignment = assignment
        self.meter = meter
        self.brokerPort = brokerPort
    }

    func start() throws {
        startedCount += 1
        let clientID = "chaos-worker-\(startedCount)"
        let process = try pipeline.startWorker(environment: [
            "BELFRY_KAFKA_PROPERTIES_CLIENT_ID": clientID,
            "BELFRY_KAFKA_PROPERTIES_PARTITION_ASSIGNMENT_STRATEGY": assignment.rawValue,
            "BELFRY_KAFKA_PROPERTIES_MAX_POLL_INTERVAL_MS": "\(Self.rebalanceMilliseconds)",
            "BELFRY_OPERATIONS_LISTEN": "127.0.0.1:0",
        ])
        meter.watch(clientID, process)
        running.append(Worker(process: process, clientID: clientID))
    }

    /// `kill -9`.
    func kill(_ pick: Int) {
        guard let worker = take(pick) else { return }
        worker.process.kill()
        killed.append(worker)
        ghosts.append((worker.clientID, .now + Self.session))
    }

    /// SIGTERM; does not wait.
    func stop(_ pick: Int) {
        guard let worker = take(pick) else { return }
        worker.process.signal(SIGTERM)
        stopping.append(worker)
    }

    private func take(_ pick: Int) -> Worker? {
        running.isEmpty ? nil : running.remove(at: pick % running.count)
    }

    /// A broker that starts again knows no members.
    func brokerForgotMembers() {
        ghosts = []
    }

    /// Does for the broker what Kafka does by itself: ends the sessions of members that are silent. Notes workers that
    /// ended without being told to.
    func keepHouse(isBrokerUp: Bool) {
        for (index, worker) in running.enumerated().reversed() where !worker.process.isRunning {
            let code = worker.process.wait()
            complaints.append("\(worker.clientID) ended by itself with \(code); see \(worker.process.logFile)")
            running.remove(at: index)
        }
        // One that is told to stop while the group is forming cannot leave it in order.
        for worker in stopping where !worker.process.isRunning && gone.insert(worker.clientID).inserted {
            ghosts.append((worker.clientID, .now + Self.session))
        }
        guard isBrokerUp else { return }
        let due = ghosts.filter { $0.sessionEnd <= .now }
        guard !due.isEmpty else { return }
        do {
            try endSessions(of: due.map(\.clientID))
            ghosts.removeAll { ghost in due.contains { $0.clientID == ghost.clientID } }
        } catch {
            say("a session could not be ended yet: \(error)")
        }
    }

    private func endSessions(of clientIDs: [String]) throws {
        let connection = try LoopbackSocket(port: brokerPort)
        let members = try KafkaWire.members(in: try connection.ask(KafkaWire.describeGroup(Self.group)))
        for member in members where clientIDs.contains(member.clientID) {
            _ = try connection.ask(KafkaWire.leaveGroup(Self.group, member: member.identifier))
        }
    }

    /// Stops all that run and waits for all that were told to.
    func stopAll() {
        while !running.isEmpty { stop(0) }
        for worker in stopping {
            let code = (try? worker.process.wait(within: Self.patience)) ?? -1
            guard code != 0 else { continue }
            complaints.append("\(worker.clientID) ended with \(code) when told to; see \(worker.process.logFile)")
        }
    }

    /// The sum of a counter over all workers: what those say that stopped in order, with their last words, and what was
    /// last seen of those that were killed, which is up to a second old.
    ///
    /// - Parameters:
    ///   - logged: its name in the last words.
    ///   - metric: its name among the metrics.
    func sum(of logged: String, metric: String) -> Int {
        WorkerLog.sum(of: logged, in: stopping.map(\.process))
            + killed.reduce(0) { $0 + meter.last(metric, of: $1.clientID) }
    }
}
