import PipelineCore

@testable import KafkaClient
@testable import SimulatedServers
@testable import TokenState

/// Holds a world of appliers to its rules, at every commit and at the end.
final class ApplyingAuditor {
    enum Rule: String, Sendable {
        case served = "a process that runs serves its groups"
        case answered = "every assignment and every revocation is answered"
        case ends = "a process that is told to stop ends within the limits of its steps"
        case forward = "a position does not go back, but to apply again what a fail-over may have lost"
        case present = "a position beyond the end is not committed"
        case settled = "what is committed is applied, or a dead letter"
        case needed = "only what cannot be applied is a dead letter"
        case meant = "nothing is applied that no record means"
        case told = "push.tombstones tells of a death before its record is committed"
        case compacted = "the last record about a dead token says that it is dead"
        case state = "changes end in the state of the permutation rule"
        case progress = "soon after the last fault everything is settled"
        case takeOver = "those who are left go on in the place of one that ends"
        case filter = "a filter that is trusted holds every dead token"
    }

    struct Violation: Sendable, Equatable, CustomStringConvertible {
        var rule: Rule
        var detail: String

        var description: String { "\"\(rule.rawValue)\": \(detail)" }
    }

    /// The first rule that was broken.
    private(set) var violation: Violation?
    private unowned let world: ApplyingWorld

    /// Longest time in which a process that runs does not serve its group.
    private static let longestSilence = VirtualTime.seconds(5)
    /// Longest time until the group has its answer: the patience with a batch, and with a commit.
    private static let longestQuestion = VirtualTime.seconds(20)

    /// Longest wait for a single master: the patience, a question without an answer, and two looks.
    private static let longestLook =
        VirtualTime(ReplayPlan.firstLookPatience.wholeNanoseconds) + .seconds(11)

    init(world: ApplyingWorld) {
        self.world = world
    }

    func fail(_ rule: Rule, _ detail: String) {
        if violation == nil { violation = Violation(rule: rule, detail: detail) }
    }

    // MARK: Groups

    /// A process serves its group.
    ///
    /// - Parameters:
    ///   - since: when it did last, or went on after a standstill.
    ///   - unansweredSince: since when it has left an assignment or a revocation without an answer, or went on; nil:
    ///     it has not.
    func polled(_ member: ApplyingMember, since: VirtualTime, unansweredSince: VirtualTime?) {
        let now = world.clock.now
        if since + Self.longestSilence < now { fail(.served, member.title) }
        guard let unansweredSince else { return }
        var begin = max(unansweredSince, world.broker.awayUntil)
        if world.options.replays {
            // No applier begins before Redis has told the history of its data; a single master is waited for so long
            // only.
            begin = max(begin, world.redis.awayUntil)
            begin = max(begin, min(world.redis.silentUntil, begin + Self.longestLook))
        }
        if begin + Self.longestQuestion < now { fail(.answered, member.title) }
    }

    /// The broker is about to store a position.
    func committed(_ log: ApplyingLog, _ position: KafkaPartitionOffset) {
        let (partition, offset) = (position.partition, position.offset)
        let stored = log[partition]
        let place = ApplyingLog.Place(partition: partition, offset: offset)
        if offset > stored.high { fail(.present, log.name(of: place)) }
        if let former = stored.committed, !stored.isTampered {
            // An owner that has not heard of a fail-over cannot tell whether the former one had.
            let restart = mayRepeat ? ReplayMark(stored.metadata)?.start : nil
            if offset < min(former, restart ?? former) { fail(.forward, "\(log.name(of: place)) after \(former)") }
        }
        // Records below the former position were judged before.
        let first = stored.isTampered ? 0 : stored.committed ?? 0
        for settled in first..<max(first, min(offset, stored.high)) {
            let place = ApplyingLog.Place(partition: partition, offset: settled)
            // Changes that a fail-over lost are applied and told again, which the end shows.
            checkSettled(log, place, among: world.redis.everMade)
            if world.redis.history == 1 { checkTold(log, place) }
        }
    }

    /// Redis may have lost changes, or was met without one of its masters, which counts as new when it is met.
    private var mayRepeat: Bool { world.redis.history > 1 || world.redis.silentUntil > 0 }

    private func checkSettled(_ log: ApplyingLog, _ place: ApplyingLog.Place, among made: Set<ApplyingChange>) {
        if !isSettled(log, place, among: made) { fail(.settled, log.name(of: place)) }
    }

    private func checkTold(_ log: ApplyingLog, _ place: ApplyingLog.Place) {
        if let death = untold(log, place) { fail(.told, "\(log.name(of: place)), token \(death.token)") }
    }

    // MARK: Records

    /// The record was applied, is a dead letter, or was deleted before.
    ///
    /// - Parameter made: the changes that count as applied.
    private func isSettled(
        _ log: ApplyingLog,
        _ place: ApplyingLog.Place,
        among made: Set<ApplyingChange>
    ) -> Bool {
        guard let entry = log.entry(place.partition, place.offset) else { return true }
        if log.deadLetters.contains(place) { return true }
        return entry.isReadable && entry.changes.allSatisfy(made.contains)
    }

    /// A death that the record means and readers of push.tombstones do not know of. Those of push.tombstones itself
    /// stand there, and a token that registered at that second or later is not dead.
    private func untold(_ log: ApplyingLog, _ place: ApplyingLog.Place) -> ApplyingChange? {
        guard log.source != .tombstones, let entry = log.entry(place.partition, place.offset) else { return nil }
        return entry.changes.first { change in
            guard change.kind == .tombstone, world.redis.made.contains(change) else { return false }
            let isOutlived = (world.redis.states[change.token]?.registered ?? 0) >= change.at
            return !isOutlived && (world.broker.words[change.token]?.tombstoned ?? 0) < Int64(change.at)
        }
    }

    /// A dead letter is stored.
    func deadLettered(_ log: ApplyingLog, _ place: ApplyingLog.Place) {
        // The record may have been deleted since.
        guard let entry = log.entry(place.partition, place.offset), entry.isReadable else { return }
        if !entry.changes.contains(where: { world.options.refused.contains($0.token) }) {
            fail(.needed, log.name(of: place))
        }
    }

    /// Redis is about to make a change.
    func making(_ change: ApplyingChange) {
        if !world.broker.meant.contains(change) { fail(.meant, "\(change)") }
    }

    func foundUnreadableTombstone() { fail(.told, "a record that cannot be read") }

    /// A token that is dead is not in the filter.
    func missed(_ token: Int) { fail(.filter, "token \(token)") }

    // MARK: The end

    /// The first thing that is not as it has to be in the end; nil: all is settled.
    func unsettled() -> String? {
        for log in world.broker.logs {
            if let open = log.numbers.lazy.compactMap({ self.unsettled(log, $0) }).first { return open }
        }
        for process in world.processes where process.isRunning {
            if let part = process.parts.first(where: { !$0.isInGroup }) { return "\(part.member.title) has no place" }
        }
        if let follower = world.follower, !follower.isTrusted { return "the filter of dead tokens is not complete" }
        return nil
    }

    private func unsettled(_ log: ApplyingLog, _ partition: Int32) -> String? {
        guard world.options.sources.contains(log.source) else { return nil }
        let stored = log[partition]
        let made = world.redis.made
        let open = (stored.low..<stored.high).first {
            !isSettled(log, .init(partition: partition, offset: $0), among: made)
        }
        if let open { return "\(log.name(of: .init(partition: partition, offset: open))) is neither applied nor dead" }
        // A position that an operator has set need not be committed again before the end: what is applied may still be
        // on its way to push.tombstones.
        let deaths = (stored.low..<stored.high).lazy.compactMap {
            self.untold(log, .init(partition: partition, offset: $0))
        }
        if let death = deaths.first { return "push.tombstones does not tell of token \(death.token)" }
        guard !stored.isTampered, stored.low < stored.high, stored.committed ?? 0 < stored.high else { return nil }
        return "\(log.source.topic)/\(partition) is committed up to \(stored.committed ?? 0) of \(stored.high)"
    }

    /// Everything is settled: the state of every token is that of its changes, in whatever order they came, and of
    /// every death that still is on record push.tombstones tells.
    func checkEnd() {
        let changes = Dictionary(grouping: world.redis.made, by: \.token)
        for token in 0..<world.options.tokens {
            let expected = TokenModel(after: changes[token] ?? [])
            let state = world.redis.states[token] ?? TokenModel()
            if state != expected { fail(.state, "token \(token) is \(state), not \(expected)") }
            checkLastWord(token, state)
        }
        for log in world.broker.logs where world.options.sources.contains(log.source) {
            for partition in log.numbers {
                for offset in log[partition].low..<log[partition].high {
                    let place = ApplyingLog.Place(partition: partition, offset: offset)
                    checkSettled(log, place, among: world.redis.made)
                    checkTold(log, place)
                }
            }
        }
        world.follower?.check()
    }

    /// A reader of push.tombstones after compaction knows of a death that was told, whatever overtook its record.
    private func checkLastWord(_ token: Int, _ state: TokenModel) {
        // A worker's own tombstones come from the plan, and the keeper tells nothing.
        guard state.isDead, state.reason != TokenRecord.Reason.invalid.rawValue, !world.plan.hasRetention,
            let word = world.broker.words[token], word.told >= Int64(state.tombstoned)
        else { return }
        if !word.endsDead { fail(.compacted, "token \(token), dead since \(state.tombstoned)") }
    }
}
