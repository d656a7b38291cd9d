/// Copies on their way to one partition of push.parked, by number: stored in the order in which they were handed over, also
/// when the producer fails in between.
///
/// After a failure nothing more goes out until everything that is out has been answered; then what failed goes again,
/// before all that is newer. A copy whose failure was a lost answer is stored twice that way, and what follows it too.
public struct CopyQueue: Sendable {
    private enum State {
        case waiting, out, failed, gone
    }

    private struct Slot {
        var number: UInt64
        var state: State
    }

    /// Oldest first; those before `start` are gone.
    private var slots: [Slot] = []
    private var start = 0
    /// Index of the first slot that was not given to the producer.
    private var given = 0
    /// Index of each number in `slots`, plus `removed`.
    private var places: [UInt64: Int] = [:]
    private var removed = 0
    private var outCount = 0
    private var failedCount = 0

    public init() {}

    public var isEmpty: Bool { places.isEmpty }

    /// Those that no answer of the producer is expected for, oldest first.
    public var unanswered: [UInt64] {
        slots[start...].filter { $0.state == .waiting || $0.state == .failed }.map(\.number)
    }

    public mutating func append(_ number: UInt64) {
        precondition(places[number] == nil)
        places[number] = slots.count + removed
        slots.append(Slot(number: number, state: .waiting))
    }

    /// The next to give to the producer; it counts as given until ``notTaken(_:)`` or an answer.
    public mutating func next() -> UInt64? {
        guard failedCount == 0 else { return nil }
        while given < slots.count, slots[given].state == .gone { given += 1 }
        guard given < slots.count else { return nil }
        slots[given].state = .out
        outCount += 1
        given += 1
        return slots[given - 1].number
    }

    /// The producer had no room for the one given last.
    public mutating func notTaken(_ number: UInt64) {
        precondition(slots[given - 1].number == number && slots[given - 1].state == .out)
        given -= 1
        slots[given].state = .waiting
        outCount -= 1
    }

    /// The broker has it, or it was given up.
    public mutating func settled(_ number: UInt64) {
        guard let index = index(of: number) else { return }
        if slots[index].state != .waiting { outCount -= 1 }
        if slots[index].state == .failed { failedCount -= 1 }
        slots[index].state = .gone
        places[number] = nil
        while start < slots.count, slots[start].state == .gone { start += 1 }
        given = max(given, start)
        if start > 64, start * 2 > slots.count {
            slots.removeFirst(start)
            removed += start
            given -= start
            start = 0
        }
        turnBack()
    }

    /// The producer gave up on it.
    public mutating func failed(_ number: UInt64) {
        guard let index = index(of: number), slots[index].state == .out else { return }
        slots[index].state = .failed
        failedCount += 1
        turnBack()
    }

    private func index(of number: UInt64) -> Int? {
        places[number].map { $0 - removed }
    }

    private mutating func turnBack() {
        guard failedCount > 0, failedCount == outCount else { return }
        for index in start..<given where slots[index].state == .failed { slots[index].state = .waiting }
        given = start
        outCount = 0
        failedCount = 0
    }
}
