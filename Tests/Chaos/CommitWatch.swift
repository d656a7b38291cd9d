import Foundation
import KafkaClient
import LocalPipeline
import Synchronization

/// Looks a few times a second at what the broker has stored for the workers' groups, on a thread of its own.
final class CommitWatch: Sendable {
    private let history: Mutex<CommitHistory>
    /// By lane.
    private let places: [RequestLane: [KafkaTopicPartition]]
    private let brokers: String

    private static let intervalMilliseconds = 200
    private static let timeoutMilliseconds: Int32 = 1000

    /// - Parameter partitions: of each lane.
    init(brokers: String, partitions: Int, history: CommitHistory) {
        self.brokers = brokers
        self.history = Mutex(history)
        places = Dictionary(grouping: RequestPartition.all(partitions), by: \.lane).mapValues { $0.map(\.place) }
    }

    var seen: CommitHistory { history.withLock { $0 } }

    /// Looks until the board is aborted or finished.
    func start(_ board: Board) {
        Thread.detachNewThread { [self] in
            guard let admin = try? KafkaAdmin(properties: ["bootstrap.servers": brokers]) else {
                return board.change { $0.failure = "what the workers commit cannot be followed" }
            }
            defer { admin.close() }
            while case .some = try? board.pass(milliseconds: Self.intervalMilliseconds) {
                let state = board.read()
                if case .finished = state.phase { return }
                if state.isBrokerUp { for lane in RequestLane.allCases { look(lane, admin) } }
            }
        }
    }

    func note(_ outage: CommitHistory.Outage) {
        history.withLock { $0.note(outage) }
    }

    /// Notes the committed positions of a lane. If they cannot be asked just now, the next look does it.
    private func look(_ lane: RequestLane, _ admin: KafkaAdmin) {
        guard
            let committed = try? admin.committed(
                group: ChaosRole.workers(lane),
                places[lane] ?? [],
                timeoutMilliseconds: Self.timeoutMilliseconds
            )
        else { return }
        // After the answer: what it tells was stored then.
        let second = Self.now
        history.withLock { history in
            for each in committed {
                history.note(
                    partition: RequestPartition(lane, each.partition),
                    offset: each.offset,
                    metadata: each.metadata,
                    second: second
                )
            }
        }
    }

    /// UNIX seconds.
    static var now: UInt32 { UInt32(Date().timeIntervalSince1970) }
}
