import Workbench

/// Kills and stops of one role of which a process stands by. One at a time is away.
enum StandbyTrack {
    /// Running at the beginning, and at the end.
    static let members = 2
    private static let away = 1000...5000
    /// From the start of a process until another one may go: it has to join its group.
    private static let joining = 2000
    private static let afterOutage = 1000...4000
    /// From the beginning of a long gap, for groups to form anew. What is left of it is longer than a takeover may be.
    static let settling = 8000

    /// In order of time.
    ///
    /// - Parameter end: milliseconds.
    static func events(
        of role: ChaosRole,
        _ random: SeededGenerator,
        beside servers: ServerTrack,
        end: Int
    ) -> [ChaosSchedule.Event] {
        var random = random
        var times: [(milliseconds: Int, isWatched: Bool)] = []
        for gap in servers.gaps {
            let isLong = gap.count >= ServerTrack.longGap
            times.append((gap.lowerBound + (isLong ? settling : random.pick(afterOutage)), isLong))
        }
        for outage in servers.outages where random.chance(40) {
            times.append((random.pick(outage.lowerBound...outage.upperBound), false))
        }
        var events: [ChaosSchedule.Event] = []
        var free = 0
        // Both in turns; in long gaps, where a takeover is seen to its end, as well.
        var (isKillNext, isWatchedKillNext) = (random.chance(50), random.chance(50))
        for time in times.sorted(by: { $0.milliseconds < $1.milliseconds }) {
            guard time.milliseconds >= free, time.milliseconds < end else { continue }
            let isKill = time.isWatched ? isWatchedKillNext : isKillNext
            if time.isWatched { isWatchedKillNext.toggle() } else { isKillNext.toggle() }
            // A watched kill hits the process that has the partition: see ``ChaosFleets``.
            let pick = time.isWatched ? 0 : random.pick(0...11)
            let back = min(end, time.milliseconds + random.pick(away))
            events.append(.init(time.milliseconds, isKill ? .kill(role, pick: pick) : .stop(role, pick: pick)))
            events.append(.init(back, .start(role)))
            free = back + joining
        }
        return events
    }
}
