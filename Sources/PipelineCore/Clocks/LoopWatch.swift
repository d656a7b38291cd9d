/// Tells which event loops stand still: those that marked no progress for longer than the bound.
///
/// A loop is marked every ``interval`` by a timer of its own. A loop that does not come round to its timers does not
/// come round to its sockets either.
public struct LoopWatch: Sendable, Equatable {
    /// A loop and the time since its last mark.
    public struct Silence: Sendable, Equatable {
        public let loop: String
        public let duration: Duration

        public init(loop: String, duration: Duration) {
            self.loop = loop
            self.duration = duration
        }
    }

    /// A loop and the lateness of its marks.
    public struct Delays: Sendable, Equatable {
        public let loop: String
        public let lateness: Histogram
    }

    /// Time from one mark of a loop to the next.
    public static let interval = Duration.seconds(1)

    private struct Loop: Equatable {
        var name: String
        var lastMark: MonotonicTime
        /// The standstill was told.
        var isTold = false
        var lateness = Histogram.lateness
    }

    private let bound: Duration
    private var loops: [Int: Loop] = [:]
    private var lastNumber = 0

    /// - Parameter bound: the longest time between two marks of a loop that is alive. A loop may wait for a broker or
    ///   for a group for some seconds, when it stops.
    public init(bound: Duration = .seconds(60)) {
        self.bound = bound
    }

    /// Watches a loop, which is alive now.
    ///
    /// - Returns: the number for ``mark(_:now:)``; never one that was given before.
    public mutating func add(_ name: String, now: MonotonicTime) -> Int {
        lastNumber += 1
        loops[lastNumber] = Loop(name: name, lastMark: now)
        return lastNumber
    }

    /// The loop with this number is alive. Ignored for a loop that is not watched any more.
    public mutating func mark(_ number: Int, now: MonotonicTime) {
        guard var loop = loops[number] else { return }
        let silence = loop.lastMark.elapsed(until: now)
        loop.lateness.observe(max(.zero, silence - Self.interval))
        loop.lastMark = now
        loop.isTold = false
        loops[number] = loop
    }

    /// Watches none of the loops any more.
    public mutating func removeAll() {
        loops.removeAll()
    }

    /// Every loop with the time since its last mark, in the order they were added.
    public func silences(now: MonotonicTime) -> [Silence] {
        loops.sorted { $0.key < $1.key }.map { Silence(loop: $1.name, duration: $1.lastMark.elapsed(until: now)) }
    }

    /// Every loop with the lateness of its marks, in the order they were added: how long others wait for their turn.
    public var delays: [Delays] {
        loops.sorted { $0.key < $1.key }.map { Delays(loop: $1.name, lateness: $1.lateness) }
    }

    /// The loops that stand still.
    public func stuck(now: MonotonicTime) -> [Silence] {
        silences(now: now).filter { $0.duration > bound }
    }

    /// The loops that stand still and were not told yet: each standstill once.
    public mutating func takeNews(now: MonotonicTime) -> [Silence] {
        var news: [Silence] = []
        for (number, loop) in loops.sorted(by: { $0.key < $1.key }) where !loop.isTold {
            let duration = loop.lastMark.elapsed(until: now)
            guard duration > bound else { continue }
            loops[number]?.isTold = true
            news.append(Silence(loop: loop.name, duration: duration))
        }
        return news
    }
}
