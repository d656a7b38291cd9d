import Foundation
import Glibc
import LocalPipeline
import Workbench

/// The processes of one role that run, and those that did.
///
/// Owned by one thread.
final class RoleFleet {
    struct Member {
        let process: ChildProcess
        /// Of its Kafka clients.
        let clientID: String
    }

    let role: ChaosRole
    /// Called when a member that was killed or told to stop has ended.
    var onEnd: (Member) -> Void = { _ in }
    private(set) var running: [Member] = []
    /// Made to stand still.
    private(set) var frozen: [Member] = []
    /// Told to stop.
    private(set) var stopping: [Member] = []
    private(set) var killed: [Member] = []
    private(set) var complaints: [String] = []
    private(set) var startedCount = 0
    /// Client IDs of those that were told to stop and have ended.
    private var gone: Set<String> = []
    /// Ended ones that the broker may still take for members.
    private var ghosts: [(clientID: String, sessionEnd: ContinuousClock.Instant)] = []
    private let brokerPort: Int
    private let launch: (_ clientID: String) throws -> ChildProcess

    /// `session.timeout.ms` of the pipeline's configuration.
    static let session = Duration.seconds(6)
    private static let patience = Duration.seconds(60)

    /// - Parameter launch: starts a process whose Kafka clients get that ID.
    init(_ role: ChaosRole, brokerPort: Int, launch: @escaping (_ clientID: String) throws -> ChildProcess) {
        self.role = role
        self.brokerPort = brokerPort
        self.launch = launch
    }

    /// All of them, those that were killed too.
    var everStarted: [Member] { running + frozen + stopping + killed }

    /// All that may be at work; one that stands still is not.
    var atWork: [Member] { running + stopping }

    func start() throws {
        startedCount += 1
        let clientID = "chaos-\(role.rawValue)-\(startedCount)"
        running.append(Member(process: try launch(clientID), clientID: clientID))
    }

    /// `kill -9`.
    ///
    /// - Parameters:
    ///   - pick: which of those that run, modulo their number.
    ///   - signalling: told the member just before.
    func kill(_ pick: Int, signalling: (Member) -> Void) {
        guard let member = take(pick) else { return }
        signalling(member)
        member.process.kill()
        killed.append(member)
        ghosts.append((member.clientID, .now + Self.session))
        onEnd(member)
    }

    /// SIGTERM; does not wait. Parameters as for ``kill(_:signalling:)``.
    func stop(_ pick: Int, signalling: (Member) -> Void = { _ in }) {
        guard let member = take(pick) else { return }
        signalling(member)
        member.process.signal(SIGTERM)
        stopping.append(member)
    }

    /// Makes one of those that run stand still (SIGSTOP), with its connections open. Its session ends meanwhile.
    func freeze(_ pick: Int) throws {
        guard let member = take(pick) else { return }
        try member.process.standStill()
        frozen.append(member)
        ghosts.append((member.clientID, .now + Self.session))
    }

    /// Lets all that stand still go on (SIGCONT).
    func thaw() {
        for member in frozen {
            // It joins again under its name.
            ghosts.removeAll { $0.clientID == member.clientID }
            if member.process.isRunning, !member.process.standsStill {
                complaints.append("\(member.clientID) went on by itself while it was to stand still")
            }
            member.process.signal(SIGCONT)
        }
        running += frozen
        frozen = []
    }

    private func take(_ pick: Int) -> Member? {
        running.isEmpty ? nil : running.remove(at: pick % running.count)
    }

    /// A broker that starts again knows no members.
    func brokerForgotMembers() {
        ghosts = []
    }

    /// Does for the broker what Kafka does by itself: ends the sessions of members that are silent. Notes members that
    /// ended, and complains of those that were not told to.
    func keepHouse(isBrokerUp: Bool) {
        for (index, member) in running.enumerated().reversed() where !member.process.isRunning {
            let code = member.process.wait()
            complaints.append("\(member.clientID) ended by itself with \(code); see \(member.process.logFile)")
            running.remove(at: index)
        }
        // One that is told to stop while the group is forming cannot leave it in order.
        for member in stopping where !member.process.isRunning && gone.insert(member.clientID).inserted {
            ghosts.append((member.clientID, .now + Self.session))
            onEnd(member)
        }
        guard isBrokerUp else { return }
        let due = ghosts.filter { $0.sessionEnd <= .now }
        guard !due.isEmpty else { return }
        do {
            for group in role.groups { try endSessions(of: due.map(\.clientID), in: group) }
            ghosts.removeAll { ghost in due.contains { $0.clientID == ghost.clientID } }
        } catch {
            say("a session could not be ended yet: \(error)")
        }
    }

    private func endSessions(of clientIDs: [String], in group: String) throws {
        let connection = try LoopbackSocket(port: brokerPort)
        let members = try KafkaWire.members(in: try connection.ask(KafkaWire.describeGroup(group)))
        for member in members where clientIDs.contains(member.clientID) {
            _ = try connection.ask(KafkaWire.leaveGroup(group, member: member.identifier))
        }
    }

    /// Stops all that run and waits for all that were told to.
    func stopAll() {
        thaw()
        while !running.isEmpty { stop(0) }
        for member in stopping {
            let code = (try? member.process.wait(within: Self.patience)) ?? -1
            // One that was told before it could listen is ended by the signal itself, and has begun nothing.
            let isTooYoung = code == 128 + SIGTERM && !member.process.log.contains("operations endpoint listens")
            guard code != 0, !isTooYoung else { continue }
            complaints.append("\(member.clientID) ended with \(code) when told to; see \(member.process.logFile)")
        }
    }

    /// The sum of a counter over all workers: what those say that stopped in order, with their last words, and what was
    /// last seen of those that were killed, which is up to a second old.
    ///
    /// - Parameters:
    ///   - logged: its name in the last words.
    ///   - metric: its name among the metrics, which `meter` looks at.
    func sum(of logged: String, metric: String, by meter: WorkerMeter) -> Int {
        WorkerLog.sum(of: logged, in: stopping.map(\.process))
            + killed.reduce(0) { $0 + meter.last(metric, of: $1.clientID) }
    }
}
