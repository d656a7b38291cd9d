import Glibc
import LocalPipeline
import Workbench

/// The processes of all roles.
///
/// Owned by one thread.
final class ChaosFleets {
    let meter: WorkerMeter
    private let fleets: [ChaosRole: RoleFleet]
    private let watch: ApplierWatch
    /// The lanes that workers serve.
    private let lanes: [RequestLane]
    /// When the group of the workers had to form anew, one of them stood still, or the broker left.
    private var groupChanges: [OwnershipEnds.End] = []
    private var brokerRestarts: [Handovers.Restart] = []
    private var standstills: [Handovers.Standstill] = []
    /// See ``haltAll()``.
    private var halted: [RoleFleet.Member] = []
    /// Standbys are signalled once in so many times.
    private static let standbyTurns = 4

    /// `max.poll.interval.ms`, which is also how long the broker lets a group wait for a member that does not join
    /// again. With the broker used here a group now and then does wait although all have asked to join; by default that
    /// would be five minutes. Where takeovers are measured it is short, and longer than a session.
    private static func rebalanceMilliseconds(of role: ChaosRole) -> Int { role == .worker ? 15_000 : 8000 }

    init(_ options: ChaosOptions, servers: ChaosServers, watch: ApplierWatch) {
        let (pipeline, port) = (servers.pipeline, servers.broker.port)
        let meter = WorkerMeter()
        func environment(_ role: ChaosRole, _ clientID: String) -> [String: String] {
            [
                "BELFRY_KAFKA_PROPERTIES_CLIENT_ID": clientID,
                "BELFRY_KAFKA_PROPERTIES_PARTITION_ASSIGNMENT_STRATEGY": options.assignment.rawValue,
                "BELFRY_KAFKA_PROPERTIES_MAX_POLL_INTERVAL_MS": "\(Self.rebalanceMilliseconds(of: role))",
                "BELFRY_OPERATIONS_LISTEN": "127.0.0.1:0",
            ]
        }
        let workers = RoleFleet(.worker, brokerPort: port) { clientID in
            let worker = try pipeline.startWorker(environment: environment(.worker, clientID))
            meter.watch(clientID, worker)
            return worker
        }
        let registrars = RoleFleet(.registrar, brokerPort: port) { clientID in
            try pipeline.startRegistrar(environment: environment(.registrar, clientID))
        }
        let harvesters = RoleFleet(.harvester, brokerPort: port) { clientID in
            try pipeline.startHarvester(environment: environment(.harvester, clientID))
        }
        fleets = [.worker: workers, .registrar: registrars, .harvester: harvesters]
        self.meter = meter
        self.watch = watch
        lanes = pipeline.options.lanes
        for fleet in [registrars, harvesters] { fleet.onEnd = { watch.ended($0) } }
    }

    subscript(role: ChaosRole) -> RoleFleet {
        guard let fleet = fleets[role] else { preconditionFailure("every role has a fleet") }
        return fleet
    }

    /// In an order that stays.
    private var all: [RoleFleet] { ChaosRole.allCases.map { self[$0] } }

    /// Starts as many of each as the schedule begins with.
    func start() throws {
        for _ in 0..<ChaosSchedule.workersAtStart { try start(.worker) }
        for _ in 0..<StandbyTrack.members {
            try start(.registrar)
            try start(.harvester)
        }
    }

    /// Processes that run, by the ID of their Kafka clients.
    var running: [String: ChildProcess] {
        Dictionary(uniqueKeysWithValues: all.flatMap(\.running).map { ($0.clientID, $0.process) })
    }

    var allShardsHavePartitions: Bool {
        let workers = self[.worker].running.map(\.process)
        return lanes.allSatisfy {
            WorkerLog.shardsWithPartitions(in: workers, of: $0) == workers.count * LocalPipeline.Options.shards
        }
    }

    func start(_ role: ChaosRole) throws {
        noteChange(of: role)
        try self[role].start()
    }

    /// `kill -9` of one of those that run.
    func kill(_ role: ChaosRole, _ pick: Int) {
        noteChange(of: role)
        let target = target(role, pick)
        self[role].kill(target.pick) { watch.signalled($0, of: role, by: .kill, holds: target.holds) }
    }

    /// SIGTERM to one of those that run; does not wait.
    func stop(_ role: ChaosRole, _ pick: Int) {
        noteChange(of: role)
        let target = target(role, pick)
        self[role].stop(target.pick) { watch.signalled($0, of: role, by: .stop, holds: target.holds) }
    }

    /// SIGSTOP to a worker that runs.
    func freezeWorker(_ pick: Int) throws {
        noteChange(of: .worker)
        try self[.worker].freeze(pick)
        for member in self[.worker].frozen {
            meter.pause(member.clientID)
            guard !standstills.contains(where: { $0.worker == member.clientID && $0.end == nil }) else { continue }
            standstills.append(Handovers.Standstill(worker: member.clientID, start: CommitWatch.now))
        }
    }

    /// SIGCONT to the workers that stand still.
    func thawWorkers() {
        noteChange(of: .worker)
        for member in self[.worker].frozen { meter.goOn(member.clientID) }
        let now = CommitWatch.now
        for index in standstills.indices where standstills[index].end == nil { standstills[index].end = now }
        self[.worker].thaw()
    }

    /// SIGSTOP to all that may be at work, until ``resumeAll()``. Throws if one does not stand still.
    func haltAll() throws {
        halted = all.flatMap(\.atWork)
        for member in halted {
            meter.pause(member.clientID)
            try member.process.standStill()
        }
    }

    /// Throws if one of those that were halted went on by itself.
    func checkHalted() throws {
        let restless = halted.filter { $0.process.isRunning && !$0.process.standsStill }.map(\.clientID)
        guard restless.isEmpty else {
            throw ChaosError(
                "\(restless.joined(separator: ", ")) went on while the broker wrote its data down, which may lack what "
                    + "was acknowledged since: the run would blame the pipeline for it"
            )
        }
    }

    /// SIGCONT to all that were halted.
    func resumeAll() {
        for member in halted {
            member.process.signal(SIGCONT)
            meter.goOn(member.clientID)
        }
        halted = []
    }

    /// The member of a role that is to be signalled. Where one stands by, it is the one that has the partition: nothing
    /// can be measured of the other.
    private func target(_ role: ChaosRole, _ pick: Int) -> (pick: Int, holds: Bool) {
        let running = self[role].running
        guard let topic = role.applies?.topic,
            let holder = running.firstIndex(where: {
                !WorkerLog.partitions(of: topic, appliedBy: $0.process).isEmpty
            })
        else { return (pick, false) }
        let isStandbyDue = pick % Self.standbyTurns == Self.standbyTurns - 1 && running.count > 1
        return isStandbyDue ? (holder + 1, false) : (holder, true)
    }

    /// Nothing can be committed from now on.
    func brokerLeaves() {
        noteChange(of: .worker)
    }

    private func noteChange(of role: ChaosRole) {
        if role == .worker { groupChanges.append(OwnershipEnds.End(second: CommitWatch.now)) }
    }

    /// When partitions of requests changed hands. Each change of the workers may move any of them.
    var ownershipEnds: [OwnershipEnds.End] {
        groupChanges
            + self[.worker].everStarted.flatMap { WorkerLog.losses(of: $0.process) }.map { loss in
                OwnershipEnds.End(
                    second: loss.second,
                    partitions: Set(loss.partitions.map { RequestPartition(loss.lane, $0) })
                )
            }
    }

    /// When workers could not move a record.
    var refusedMoves: RefusedMoves {
        RefusedMoves(
            self[.worker].everStarted.flatMap { WorkerLog.seconds(of: RefusedMoves.message, by: $0.process) }
        )
    }

    /// See ``Handovers``.
    func handovers(_ bounds: Handovers.Bounds) -> Handovers {
        Handovers(
            self[.worker].everStarted.map { .init(name: $0.clientID, tenures: WorkerLog.tenures(of: $0.process)) },
            restarts: brokerRestarts,
            standstills: standstills,
            within: bounds
        )
    }

    /// The broker was started again, and knows no members.
    ///
    /// - Parameter began: when the start began, UNIX seconds.
    func brokerForgotMembers(since began: UInt32) {
        brokerRestarts.append(Handovers.Restart(began: began, answered: CommitWatch.now))
        for fleet in all { fleet.brokerForgotMembers() }
    }

    func keepHouse(isBrokerUp: Bool) {
        for fleet in all { fleet.keepHouse(isBrokerUp: isBrokerUp) }
    }

    /// Stops all that run and waits for all that were told to.
    func stopAll() {
        for fleet in all { fleet.stopAll() }
    }

    var complaints: [String] { all.flatMap(\.complaints) }

    /// A counter of all workers: see ``RoleFleet/sum(of:metric:by:)``.
    func sum(of logged: String, metric: String) -> Int {
        self[.worker].sum(of: logged, metric: metric, by: meter)
    }
}
