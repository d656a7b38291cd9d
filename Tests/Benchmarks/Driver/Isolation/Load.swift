import Foundation
import KafkaClient
import Synchronization

/// Publishes the notifications of both topics at their rates, on a thread of its own.
///
/// At any moment one partition gets all of a topic's records, the next one a tick later: so batches are large, and
/// every partition gets the same. Both topics are in all partitions.
final class Load: Sendable {
    /// One topic's part.
    struct Topic: Sendable {
        var writer: RequestWriter
        var ledger: SharedLedger
        var devicesPerPartition: Int
    }

    /// The load that is asked of a topic.
    struct Demand: Sendable, Equatable {
        /// Notifications a second; 0: none.
        var rate = 0
        /// Most good notifications that may be published and not accepted; nil: any number.
        var outstanding: Int?
        /// Most notifications in all; nil: any number.
        var limit: Int?
    }

    private struct State {
        var demands: [Demand]
        var offered: [Int]
        var failure: String?
        var isStopping = false
        var hasStopped = false
    }

    private let state: Mutex<State>

    /// The embedded broker forgets the oldest silently beyond 100,000 records of a partition.
    static let recordsPerPartition = 100_000

    init(topics: Int) {
        state = Mutex(
            State(demands: Array(repeating: Demand(), count: topics), offered: Array(repeating: 0, count: topics))
        )
    }

    func demand(_ demand: Demand, of topic: Int) {
        state.withLock { $0.demands[topic] = demand }
    }

    /// Notifications of a topic that were published.
    func offered(_ topic: Int) -> Int {
        state.withLock { $0.offered[topic] }
    }

    var failure: String? { state.withLock { $0.failure } }

    func start(brokers: String, partitions: Int, topics: [Topic]) {
        Thread.detachNewThread { [self] in
            do {
                let producer = try Publisher(brokers: brokers, partitions: partitions, topics: topics)
                defer { producer.close() }
                while true {
                    let (demands, isStopping) = state.withLock { ($0.demands, $0.isStopping) }
                    if isStopping { break }
                    try producer.turn(demands)
                    state.withLock { $0.offered = producer.offered }
                }
            } catch {
                state.withLock { $0.failure = "\(error)" }
            }
            state.withLock { $0.hasStopped = true }
        }
    }

    /// Ends the thread; returns at once.
    func stop() {
        state.withLock { $0.isStopping = true }
    }

    var hasStopped: Bool { state.withLock { $0.hasStopped } }
}
