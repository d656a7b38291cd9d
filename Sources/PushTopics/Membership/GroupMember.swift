import KafkaClient
import Logging
import PipelineCore

/// The start of a partition, as a role finds it.
package protocol PartitionStart {
    var place: KafkaTopicPartition { get }
}

extension KafkaPartitionOffset: PartitionStart {}

/// A role's member of a consumer group: carries out what ``MembershipStateMachine`` answers to the group.
///
/// The role finds starts, works on partitions and commits; see the closures. Bound to the event loop of its owner.
package final class GroupMember<Start: PartitionStart> {
    /// An event for the role, after the change.
    package enum Event {
        /// The consumer reads further partitions, possibly none.
        case assigned([Int32])
        /// The consumer could not begin partitions, which are not held.
        case failed(KafkaError)
        /// Nothing further of what was fetched of these partitions is worked on.
        case abandoned([Int32])
        /// Partitions are no longer this member's: nothing of them is done or committed any more.
        case ended([Int32])
        /// A revocation was answered.
        case revoked
        /// Everything is given back after a stop: the consumer may be closed.
        case left
    }

    /// The answer to a question about starts; nil: it cannot be asked yet.
    package typealias Starts = Result<[Start], KafkaError>?

    /// Finds where partitions start. Calls back once.
    package var findStarts: ([KafkaTopicPartition], @escaping (Starts) -> Void) -> Void = { $1(nil) }
    /// Takes partitions over, each at the offset that is returned for it.
    package var begin: ([Start]) -> [KafkaPartitionOffset] = { _ in [] }
    package var work: () -> MembershipStateMachine.Work = { .init(inHand: []) }
    /// Commits partitions that are given back. Calls back once, after the answer.
    package var commitLast: ([Int32], @escaping () -> Void) -> Void = { $1() }
    package var onEvent: (Event) -> Void = { _ in }

    private let consumer: any GroupConsumer
    private let topic: String
    private let logger: Logger
    private let clock: () -> MonotonicTime
    package private(set) var machine: MembershipStateMachine

    /// - Parameters:
    ///   - topic: the Kafka topic that is consumed.
    ///   - machine: a new one, with the limits of the role.
    package init(
        consumer: any GroupConsumer,
        topic: String,
        machine: MembershipStateMachine,
        logger: Logger,
        clock: @escaping () -> MonotonicTime
    ) {
        self.consumer = consumer
        self.topic = topic
        self.machine = machine
        self.logger = logger
        self.clock = clock
    }

    /// Partitions are being given back.
    package var isGivingBack: Bool { machine.isGivingBack }

    /// The member has its place in the group; an empty assignment is one.
    package var isInGroup: Bool { machine.isInGroup(now: clock()) }

    package func use(_ limits: MembershipStateMachine.Limits) { machine.use(limits) }

    // MARK: The group

    package func assign(_ places: [KafkaTopicPartition]) { carryOut(machine.assigned(places.map(\.partition))) }

    package func revoke(_ places: [KafkaTopicPartition], lost: Bool) {
        let partitions = places.map(\.partition)
        logger.info(
            lost ? "partitions lost" : "partitions revoked",
            metadata: ["partitions": "\(partitions.sorted())"]
        )
        let work = work()
        carryOut(machine.revoked(partitions, lost: lost, work: work, now: clock()))
    }

    /// Gives everything back; ``Event/left`` follows.
    package func stop() {
        let work = work()
        carryOut(machine.stop(work: work, now: clock()))
    }

    /// Takes the step of giving back that is due. To be called when work has ended, and now and then.
    package func proceed() {
        guard machine.isGivingBack else { return }
        let work = work()
        carryOut(machine.proceed(work: work, now: clock()))
    }

    /// Asks for starts that are not known yet, unless the question is under way. To be called now and then.
    package func askAgain() { carryOut(machine.askAgain()) }

    /// Pauses partitions, so that polling brings events only, or lets them go on.
    ///
    /// - Returns: false: the client could not.
    package func pause(_ isPaused: Bool, _ partitions: [Int32]) -> Bool {
        do throws(KafkaError) {
            let places = partitions.map(place)
            if isPaused { try consumer.pause(places) } else { try consumer.resume(places) }
            return true
        } catch {
            logger.error(
                "partition could not be paused or resumed",
                metadata: ["partitions": "\(partitions)", "error": "\(error)"]
            )
            return false
        }
    }

    private func place(_ partition: Int32) -> KafkaTopicPartition {
        KafkaTopicPartition(topic: topic, partition: partition)
    }

    // MARK: Steps

    /// - Parameter starts: those that were just found.
    private func carryOut(_ actions: [MembershipStateMachine.Action], _ starts: [Start] = []) {
        for action in actions {
            switch action {
            case .askPositions(let partitions, let question): ask(partitions, question)
            case .completeAssign(let partitions): completeAssign(partitions, starts)
            case .abandon(let partitions): onEvent(.abandoned(partitions))
            case .commitLast(let partitions, let commit):
                commitLast(partitions) { [weak self] in
                    guard let self else { return }
                    carryOut(machine.lastCommitEnded(commit, now: clock()))
                }
            case .end(let partitions): onEvent(.ended(partitions))
            case .completeRevoke: completeRevoke()
            case .leave: onEvent(.left)
            }
        }
    }

    private func ask(_ partitions: [Int32], _ question: UInt64) {
        findStarts(partitions.map(place)) { [weak self] answer in
            self?.arrived(answer, question)
        }
    }

    private func arrived(_ answer: Starts, _ question: UInt64) {
        switch answer {
        case .success(let starts)?:
            carryOut(machine.positionsArrived(of: Set(starts.map(\.place.partition)), question: question), starts)
        case .failure(let error)?:
            guard machine.positionsFailed(question: question) else { return }
            logger.warning("committed positions could not be read; trying again", metadata: ["error": "\(error)"])
        case nil: machine.positionsFailed(question: question)
        }
    }

    private func completeAssign(_ partitions: [Int32], _ starts: [Start]) {
        let positions = begin(starts.filter { partitions.contains($0.place.partition) })
        do throws(KafkaError) {
            try consumer.completeAssign(positions)
            logger.info("partitions assigned", metadata: ["partitions": "\(partitions)"])
            onEvent(.assigned(partitions))
        } catch {
            logger.error("partitions could not be assigned", metadata: ["error": "\(error)"])
            carryOut(machine.notAssigned(partitions))
            onEvent(.failed(error))
        }
    }

    private func completeRevoke() {
        do throws(KafkaError) {
            try consumer.completeRevoke()
        } catch {
            logger.error("partitions could not be given back", metadata: ["error": "\(error)"])
        }
        onEvent(.revoked)
    }
}
