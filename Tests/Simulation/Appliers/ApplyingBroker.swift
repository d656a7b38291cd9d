import Foundation
import PushSchemas
import SwiftProtobuf

@testable import KafkaClient
@testable import SimulatedServers
@testable import TokenState

/// The broker of a world of appliers: its Kafka topics, and what readers of push.tombstones can know.
final class ApplyingBroker {
    /// The records of push.tombstones about a token, merged by maximum.
    struct Word {
        var registered: Int64 = 0
        var tombstoned: Int64 = 0
        /// The time since which the token is dead by these records; nil: it is not.
        var deadSince: VirtualTime?
        /// The last of them says that it is dead: compaction leaves that one alone.
        var endsDead = false
        /// The latest death of which an applier has told, UNIX seconds; 0: none.
        var told: Int64 = 0
    }

    private unowned let world: ApplyingWorld
    /// By ``ApplyingSource``.
    let logs: [ApplyingLog]
    /// By token.
    private(set) var words: [Int: Word] = [:]
    /// The changes that records mean.
    private(set) var meant: Set<ApplyingChange> = []
    private(set) var awayUntil: VirtualTime = 0
    private var commitsLostUntil: VirtualTime = 0

    init(world: ApplyingWorld) {
        self.world = world
        logs = ApplyingSource.allCases.map { ApplyingLog(world: world, source: $0) }
    }

    subscript(source: ApplyingSource) -> ApplyingLog { logs[source.rawValue] }

    func log(named topic: String) -> ApplyingLog? { logs.first { $0.source.topic == topic } }

    var isAway: Bool { world.clock.now < awayUntil }

    /// Time until something from outside reaches the broker, or comes from there.
    var wait: VirtualTime { isAway ? awayUntil - world.clock.now : 0 }

    /// Time until an answer arrives now.
    func roundTrip() -> VirtualTime { wait + world.dice.time(1...15) }

    // MARK: Records

    func publish(_ record: ApplyingRecord) {
        guard record.content != .unreadable else { return append(record, changes: []) }
        if case .invalid(let token) = record.content {
            note(token, registered: 0, tombstoned: Int64(record.changes[0].at))
        }
        append(record, changes: record.changes)
    }

    private func append(_ record: ApplyingRecord, changes: [ApplyingChange]) {
        meant.formUnion(changes)
        self[record.source].append(
            .init(
                key: ApplyingRecord.key,
                value: record.value,
                changes: changes,
                isReadable: record.content != .unreadable
            ),
            to: record.partition
        )
    }

    /// Stores what an applier says of a token in push.tombstones.
    func tell(key: [UInt8], value: [UInt8]) {
        guard let message = try? PushTombstone(serializedBytes: value),
            let token = ApplyingRecord.number(of: message.token)
        else { return world.auditor.foundUnreadableTombstone() }
        note(token, registered: message.registeredAt, tombstoned: message.tombstonedAt)
        let told = words[token]?.told ?? 0
        words[token]?.told = max(told, message.tombstonedAt)
        world.note(
            .tombstone,
            token,
            Int(message.tombstonedAt),
            "told: token \(token) is dead since \(message.tombstonedAt), registered at \(message.registeredAt)"
        )
        // Only what a gateway called invalid is applied again.
        let isKept = message.reason == .invalid && message.tombstonedAt > message.registeredAt
        let change = ApplyingChange(
            token: token,
            kind: .tombstone,
            at: UInt32(clamping: message.tombstonedAt),
            code: TokenRecord.Reason.invalid.rawValue
        )
        self[.tombstones].append(
            .init(key: key, value: value, changes: isKept ? [change] : [], isReadable: true),
            to: Int32(token) % world.options.partitions
        )
    }

    private func note(_ token: Int, registered: Int64, tombstoned: Int64) {
        var word = words[token] ?? Word()
        word.registered = max(word.registered, registered)
        word.tombstoned = max(word.tombstoned, tombstoned)
        word.endsDead = tombstoned > registered
        word.deadSince = word.tombstoned > word.registered ? word.deadSince ?? world.clock.now : nil
        words[token] = word
    }

    // MARK: Groups

    /// Takes a commit, if it is of a member of the present generation.
    ///
    /// - Parameter generation: the member's when it sent the commit.
    func commit(_ offsets: [KafkaPartitionOffset], by member: ApplyingMember, generation: Int) -> KafkaError? {
        guard member.log.group.contains(member) else { return .unknownMember }
        guard generation == member.log.group.generation else { return .illegalGeneration }
        let isLost = world.clock.now < commitsLostUntil
        if isLost, world.dice.chance(50) { return .timedOut }
        member.log.commit(offsets)
        return isLost ? .timedOut : nil
    }

    // MARK: Faults

    func goAway(for time: VirtualTime) { awayUntil = max(awayUntil, world.clock.now + time) }

    /// Commits are not answered, stored or not.
    func loseCommits(for time: VirtualTime) { commitsLostUntil = max(commitsLostUntil, world.clock.now + time) }
}
