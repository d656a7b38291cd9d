import NIOCore
import PipelineCore

/// Writes to a store: those of one key are made one after the other, those of different keys at once, up to a limit.
/// Pure.
///
/// The order of sending is not enough. When a connection breaks, writes under way fail, and those that it had not taken
/// yet go out on the next one, before the others are repeated. Holds all writes that were added and not ended or taken:
/// their number is for the owner to limit.
struct OrderedWrites<Key: Hashable, Write> {
    /// A write whose turn has come: it is to be made, and made again when it fails.
    struct Turn {
        let key: Key
        /// A turn may fail with a changed one, which is made then.
        var write: Write
        /// In the order of adding, from 1.
        fileprivate let number: UInt64
    }

    /// The writes of one key, in one place: a table of the writes themselves would move them all as it grows.
    private final class Line {
        var present: Turn
        /// Turns behind it from `start` on, oldest first; those before have come.
        private var behind: [Turn] = []
        private var start = 0

        init(_ turn: Turn) { present = turn }

        var all: [Turn] { [present] + behind[start...] }

        func append(_ turn: Turn) { behind.append(turn) }

        /// Moves on to the next turn; false: there is none.
        func advance() -> Bool {
            guard start < behind.count else { return false }
            present = behind[start]
            start += 1
            if start * 2 >= behind.count {
                behind.removeFirst(start)
                start = 0
            }
            return true
        }
    }

    /// Most turns that have come and not ended.
    private let most: Int
    /// Turns that have come and not ended.
    private var open = 0
    /// Lines whose present turn comes as others end.
    private var ready = CircularBuffer<Line>()
    private var lines = PartedDictionary<Key, Line>()
    /// Turns whose write is to be made again, in the order of failing.
    private var failed: [Turn] = []
    private var lastNumber: UInt64 = 0

    init(most: Int = .max) { self.most = most }

    var isEmpty: Bool { lines.isEmpty }

    /// Some write of the key has not ended.
    func contains(_ key: Key) -> Bool { !lines.isEmpty && lines[key] != nil }

    /// Adds a write behind all others of its key.
    ///
    /// - Returns: its turn, which has come; nil: it comes when those before it have ended.
    mutating func add(_ write: Write, of key: Key) -> Turn? {
        lastNumber += 1
        let turn = Turn(key: key, write: write, number: lastNumber)
        if let line = lines[key] {
            line.append(turn)
            return nil
        }
        let line = Line(turn)
        lines[key] = line
        guard open < most else {
            ready.append(line)
            return nil
        }
        open += 1
        return turn
    }

    /// The turn, which has come, has not ended and was not taken.
    func isOpen(_ turn: Turn) -> Bool { lines[turn.key]?.present.number == turn.number }

    /// Ends an open turn: the store has the write, or never will.
    ///
    /// - Returns: the turn that comes now; of its key, unless others wait for the limit.
    mutating func end(_ turn: Turn) -> Turn? {
        guard let line = lines[turn.key], line.present.number == turn.number else {
            preconditionFailure("a turn ends once")
        }
        if line.advance() { ready.append(line) } else { lines.removeValue(forKey: turn.key) }
        if let next = ready.popFirst() { return next.present }
        open -= 1
        return nil
    }

    /// Keeps an open turn whose write failed until ``takeFailed()``; those behind it wait on.
    ///
    /// - Returns: no other is kept.
    mutating func fail(_ turn: Turn) -> Bool {
        failed.append(turn)
        return failed.count == 1
    }

    /// Takes the turns whose writes failed, in that order, for making them again.
    mutating func takeFailed() -> [Turn] {
        defer { failed = [] }
        return failed
    }

    /// Takes all writes, in the order of adding. No turn is open then.
    mutating func takeAll() -> [Write] {
        defer {
            lines = PartedDictionary()
            failed = []
            ready.removeAll()
            open = 0
        }
        return lines.values.flatMap(\.all).sorted { $0.number < $1.number }.map(\.write)
    }
}
