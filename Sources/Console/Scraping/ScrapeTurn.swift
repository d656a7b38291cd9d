import BelfrySupport

/// Chooses the processes to look at in a turn: each once at a time, all of them in turn when there are too many at
/// once. Pure.
struct ScrapeTurn {
    private var asked: Set<HostPort> = []
    private var offset = 0

    /// The processes to ask now. Each is answered with ``ended(_:)`` before it comes again.
    ///
    /// - Parameter processes: all that there are, each once.
    mutating func take(of processes: [HostPort]) -> [HostPort] {
        guard !processes.isEmpty else { return [] }
        let start = offset % processes.count
        let inTurn = processes[start...] + processes[..<start]
        let room = max(0, ConsoleLimits.scrapesAtOnce - asked.count)
        let chosen = Array(inTurn.filter { !asked.contains($0) }.prefix(room))
        asked.formUnion(chosen)
        // The next turn begins behind the last one that found room.
        if let last = chosen.last, let place = processes.firstIndex(of: last) { offset = place + 1 }
        return chosen
    }

    mutating func ended(_ process: HostPort) { asked.remove(process) }
}
