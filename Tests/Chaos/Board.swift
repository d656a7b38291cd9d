import Dispatch
import KafkaClient
import LocalPipeline
import Synchronization

/// State shared by the threads with the Kafka clients and the schedule's thread.
final class Board: Sendable {
    /// Asked of the threads with the Kafka clients.
    enum Phase: Sendable {
        case waiting
        case publishing
        case draining
        /// Close everything and leave ``State/result`` and ``State/tokens``.
        case finished
    }

    struct State: Sendable {
        var phase = Phase.waiting
        /// Ended by a signal.
        var isAborted = false
        /// No thread asks the broker for more than it gives by itself while it is away.
        var isBrokerUp = true
        /// Nothing may be on its way to the broker: it is about to stop.
        var isHeldBack = false

        /// Outcomes are followed.
        var isAssigned = false
        var handedOver = 0
        var published = 0
        var outcomes = 0
        /// The broker has acknowledged everything handed over.
        var isAcknowledged = false
        /// The offset after the last one read of push.requests and push.outcomes.
        var seen: [KafkaTopicPartition: Int64] = [:]
        /// Everything handed over stands in the log and has its outcome.
        var isDrained = false

        /// Registrations that the broker has acknowledged.
        var registrations = 0
        /// The broker has acknowledged every registration handed over.
        var areRegistrationsAcknowledged = true
        /// Tuples met in push.feedback.
        var feedback = 0
        /// The offset after the last one read of push.feedback.
        var feedbackSeen: [KafkaTopicPartition: Int64] = [:]

        var failure: String?
        var result: ChaosBooks?
        var tokens: TokenBooks?
    }

    struct Aborted: Error, CustomStringConvertible {
        var description: String { "stopped by a signal" }
    }

    private let state = Mutex(State())
    private let bell = DispatchSemaphore(value: 0)

    func read() -> State {
        state.withLock { $0 }
    }

    func change(_ body: (inout State) -> Void) {
        state.withLock { body(&$0) }
    }

    /// Ends all waiting, now and later.
    func abort() {
        change { $0.isAborted = true }
        bell.signal()
    }

    /// Waits; throws if it was aborted, or if another thread failed.
    func pass(milliseconds: Int) throws {
        if bell.wait(timeout: .now() + .milliseconds(milliseconds)) == .success { bell.signal() }
        let state = read()
        if state.isAborted { throw Aborted() }
        if let failure = state.failure { throw ChaosError(failure) }
    }
}

/// A failure, in words for the person who started the run.
struct ChaosError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
