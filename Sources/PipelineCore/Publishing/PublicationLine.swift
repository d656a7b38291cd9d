/// Publications to one Kafka topic that wait for their producer, and when each of them goes. Pure.
///
///     waiting ─▶ handed over ─▶ acknowledged
///        ▲            │
///        └─ refused ──┘
///
/// A full producer gets nothing until it has room. A topic that its brokers refuse gets one publication at a time, to
/// try, after pauses that grow; all others wait behind that. A publication that fails for itself waits alone.
public struct PublicationLine: Sendable {
    /// A reason why a publication comes back.
    public enum Refusal: Sendable {
        /// The producer has no room.
        case full
        /// The brokers refuse the topic to this producer, or do not know it: operators have to mend that.
        case barred
        /// The brokers refuse this publication, which cannot be made any smaller.
        case unfit
        /// Another failure, which may pass.
        case failed
    }

    /// From a refusal to the next attempt. It doubles with each attempt in vain, up to the longest. [ours]
    public static let firstPause = Duration.seconds(1)
    public static let longestPause = Duration.seconds(30)

    private var waiting = NumberQueue()
    private var failed = Resting()
    private var unfit = Resting()
    private var isFull = false
    /// The time of the next attempt with a topic that is refused; nil: it is not.
    private var barredUntil: MonotonicTime?
    private var pause = PublicationLine.firstPause

    /// Publications that wait together, up to a time.
    private struct Resting: Sendable {
        var numbers: [UInt64] = []
        var until = MonotonicTime(nanoseconds: 0)

        /// The numbers whose time has come.
        mutating func takeDue(_ now: MonotonicTime) -> [UInt64] {
            guard !numbers.isEmpty, until <= now else { return [] }
            defer { numbers = [] }
            return numbers
        }
    }

    public init() {}

    /// Publications that are not handed over.
    public var count: Int { waiting.count + failed.numbers.count + unfit.numbers.count }
    /// Publications that wait for operators.
    public var barredCount: Int { barredUntil == nil ? unfit.numbers.count : count }
    /// The next one may go at once.
    public var isReady: Bool { !isFull && barredUntil == nil && !waiting.isEmpty }

    /// Adds a publication behind the others.
    public mutating func add(_ number: UInt64) { waiting.append(number) }

    /// Takes the publication that is to be handed over now; nil: none.
    public mutating func takeNext(now: MonotonicTime) -> UInt64? {
        if let barredUntil, now < barredUntil { return nil }
        guard !isFull else { return nil }
        for number in failed.takeDue(now) + unfit.takeDue(now) { waiting.append(number) }
        guard let next = waiting.popFirst() else { return nil }
        if barredUntil != nil {
            lengthenPause()
            barredUntil = now + pause
        }
        return next
    }

    /// A publication that was handed over has come back.
    public mutating func refused(_ number: UInt64, _ refusal: Refusal, now: MonotonicTime) {
        switch refusal {
        case .full:
            isFull = true
            waiting.prepend(number)
        case .barred:
            if barredUntil == nil { barredUntil = now + pause }
            waiting.append(number)
        case .unfit:
            if unfit.numbers.isEmpty { unfit.until = now + Self.longestPause }
            unfit.numbers.append(number)
        case .failed:
            if failed.numbers.isEmpty {
                failed.until = now + pause
                lengthenPause()
            }
            failed.numbers.append(number)
        }
    }

    /// The broker has acknowledged a publication: it takes the topic's.
    public mutating func acknowledged() {
        isFull = false
        barredUntil = nil
        pause = Self.firstPause
    }

    /// The producer may have room again.
    public mutating func roomCame() { isFull = false }

    /// Removes publications that nothing needs any more.
    public mutating func removeAll(where isOver: (UInt64) -> Bool) {
        waiting.removeAll(where: isOver)
        failed.numbers.removeAll(where: isOver)
        unfit.numbers.removeAll(where: isOver)
    }

    private mutating func lengthenPause() { pause = min(pause * 2, Self.longestPause) }
}

/// Numbers, first in, first out.
private struct NumberQueue: Sendable {
    private var numbers: [UInt64] = []
    /// Place of the first one; those before it are gone.
    private var head = 0

    /// Most places kept free for the next storm.
    private static let keptPlaces = 4096

    var count: Int { numbers.count - head }
    var isEmpty: Bool { count == 0 }

    mutating func append(_ number: UInt64) { numbers.append(number) }

    mutating func prepend(_ number: UInt64) {
        if head > 0 {
            head -= 1
            numbers[head] = number
        } else {
            numbers.insert(number, at: 0)
        }
    }

    mutating func popFirst() -> UInt64? {
        guard head < numbers.count else { return nil }
        let first = numbers[head]
        head += 1
        if head == numbers.count {
            numbers.removeAll(keepingCapacity: numbers.capacity <= Self.keptPlaces)
            head = 0
        } else if head >= Self.keptPlaces, head * 2 > numbers.count {
            numbers.removeFirst(head)
            head = 0
        }
        return first
    }

    mutating func removeAll(where isOver: (UInt64) -> Bool) {
        numbers.removeFirst(head)
        head = 0
        numbers.removeAll(where: isOver)
    }
}
