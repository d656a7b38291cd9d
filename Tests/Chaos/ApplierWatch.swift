import Foundation
import KafkaClient
import Synchronization

/// Looks a few times a second at how far registrars and harvesters have come, on a thread of its own.
final class ApplierWatch: Sendable {
    private struct State {
        var takeovers = TakeoverMeter(session: RoleFleet.session)
        var committed: [KafkaTopicPartition: KafkaPartitionOffset] = [:]
        /// One past the newest record.
        var ends: [KafkaTopicPartition: Int64] = [:]
        var looks = 0
    }

    /// Partitions of each Kafka topic that a role applies: fewer than members, so that one of them stands by.
    static let partitions = 1
    private static let intervalMilliseconds = 200
    private static let timeoutMilliseconds: Int32 = 1000

    private let state = Mutex(State())
    private let brokers: String
    /// Of the run.
    private let beginning = ContinuousClock.now

    init(brokers: String) {
        self.brokers = brokers
    }

    /// The partitions that a role applies.
    static func places(of role: ChaosRole) -> [KafkaTopicPartition] {
        guard let topic = role.applies?.topic else { return [] }
        return (0..<Int32(partitions)).map { KafkaTopicPartition(topic: topic, partition: $0) }
    }

    /// Looks until the board is aborted or finished.
    func start(_ board: Board) {
        Thread.detachNewThread { [self] in
            guard let admin = try? KafkaAdmin(properties: ["bootstrap.servers": brokers]) else {
                return board.change { $0.failure = "what registrars and harvesters commit cannot be followed" }
            }
            defer { admin.close() }
            while case .some = try? board.pass(milliseconds: Self.intervalMilliseconds) {
                let state = board.read()
                if case .finished = state.phase { return }
                guard state.isBrokerUp else { continue }
                // Not until all answer: a round is of one time.
                guard ChaosRole.allCases.allSatisfy({ look($0, admin) }) else { continue }
                self.state.withLock { $0.looks += 1 }
            }
        }
    }

    /// - Returns: false: the broker cannot be asked just now; the next look does it.
    private func look(_ role: ChaosRole, _ admin: KafkaAdmin) -> Bool {
        guard let applies = role.applies else { return true }
        let places = Self.places(of: role)
        guard
            let committed = try? admin.committed(
                group: applies.group,
                places,
                timeoutMilliseconds: Self.timeoutMilliseconds
            )
        else { return false }
        for (place, position) in zip(places, committed) {
            guard let extent = try? admin.watermarks(of: place, timeoutMilliseconds: Self.timeoutMilliseconds) else {
                return false
            }
            state.withLock {
                $0.committed[place] = position
                $0.ends[place] = extent.high
                $0.takeovers.look(place, committed: position.offset, end: extent.high, now: now)
            }
        }
        return true
    }

    private var now: Duration { beginning.duration(to: .now) }

    // MARK: Events

    /// A member is about to be signalled.
    ///
    /// - Parameter holds: it has the partitions of its role; else it stands by, or that is not known.
    func signalled(_ member: RoleFleet.Member, of role: ChaosRole, by signal: TakeoverMeter.Signal, holds: Bool) {
        state.withLock {
            let places = Self.places(of: role)
            $0.takeovers.signalled(member.clientID, by: signal, places, holds: holds, now: now)
        }
    }

    func ended(_ member: RoleFleet.Member) {
        state.withLock { $0.takeovers.ended(member.clientID) }
    }

    func serverLeft() {
        state.withLock { $0.takeovers.serverLeft() }
    }

    /// - Parameter settling: time that clients have to find the servers and groups to form.
    func serversReturned(settling: Duration) {
        state.withLock { $0.takeovers.serversReturned(now: now, settling: settling) }
    }

    // MARK: Progress

    var takeovers: TakeoverMeter { state.withLock { $0.takeovers } }

    /// The committed positions that were seen last.
    var committed: [KafkaTopicPartition: KafkaPartitionOffset] { state.withLock { $0.committed } }

    /// One past the newest record of each partition, as seen last.
    var ends: [KafkaTopicPartition: Int64] { state.withLock { $0.ends } }

    /// Rounds of looks in which the broker told everything.
    var looks: Int { state.withLock { $0.looks } }

    /// Records that were not applied, or not committed, at the last look.
    var waiting: Int64 {
        state.withLock { state in
            state.ends.reduce(0) { $0 + $1.value - max(0, state.committed[$1.key]?.offset ?? 0) }
        }
    }
}
