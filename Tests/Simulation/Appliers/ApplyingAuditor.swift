/// Holds a world of appliers to its rules, at every commit and at the end.
final class ApplyingAuditor {
    /// The first rule that was broken.
    private(set) var violation: String?
    private unowned let world: ApplyingWorld

    /// Longest time in which a process that runs does not serve its group.
    private static let longestSilence = VirtualTime.seconds(5)
    /// Longest time until the group has its answer: the patience with a batch, and with a commit.
    private static let longestQuestion = VirtualTime.seconds(20)

    init(world: ApplyingWorld) {
        self.world = world
    }

    /// A process serves its group.
    ///
    /// - Parameters:
    ///   - since: when it did last, or went on after a standstill.
    ///   - unansweredSince: since when it has left an assignment or a revocation without an answer, or went on; nil:
    ///     it has not.
    func polled(since: VirtualTime, unansweredSince: VirtualTime?) {
        let now = world.clock.now
        if since + Self.longestSilence < now { fail("a process that runs serves its group") }
        guard let unansweredSince else { return }
        if max(unansweredSince, world.broker.awayUntil) + Self.longestQuestion < now {
            fail("every assignment and every revocation is answered")
        }
    }

    /// The broker has stored a position.
    ///
    /// - Parameter former: the stored position before it.
    func committed(_ partition: Int32, _ offset: Int64, after former: Int64?) {
        if let former, offset < former, !world.broker.tampered.contains(partition) {
            fail("the position of partition \(partition) does not go back from \(former) to \(offset)")
        }
        // What is below the former position was looked at then.
        let first = world.broker.tampered.contains(partition) ? 0 : former ?? 0
        for place in first..<max(first, offset) where !isSettled(partition, place) {
            fail("record \(place) of partition \(partition) is settled before \(offset) is committed")
        }
        if offset > world.broker.high(partition) { fail("a position beyond the end is not committed") }
    }

    /// The record was applied, is a dead letter, or was deleted before.
    private func isSettled(_ partition: Int32, _ offset: Int64) -> Bool {
        let log = world.broker.logs[Int(partition)]
        guard offset < Int64(log.count), offset >= world.broker.lows[Int(partition)] else { return true }
        return world.redis.registered.contains(log[Int(offset)])
            || world.broker.deadLetters.contains(.init(partition: partition, offset: offset))
    }

    /// Long after the last fault.
    func checkEnd() {
        for partition in 0..<world.options.partitions {
            let (low, high) = (world.broker.lows[Int(partition)], world.broker.high(partition))
            for offset in low..<high where !isSettled(partition, offset) {
                fail("record \(offset) of partition \(partition) is settled in the end")
            }
            guard !world.broker.tampered.contains(partition), low < high else { continue }
            if world.broker.committed[partition] ?? 0 < high { fail("partition \(partition) is committed to its end") }
        }
    }

    private func fail(_ rule: String) {
        if violation == nil { violation = rule }
    }
}
