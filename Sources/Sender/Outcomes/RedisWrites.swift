import NIOCore
import RedisClient

/// The stages of a shard learn here if they are to wait for Redis. Bound to the shard's event loop.
final class RedisAvailability {
    /// Redis is away and sending goes on without it.
    var isAway = false
    /// The shard has ended: nothing is asked or written any more.
    var isClosed = false
}

/// A token of a topic, as the key of its writes. The few that share a checksum wait for each other.
struct AppToken: Hashable {
    var topic: Int32
    /// CRC-32.
    var checksum: UInt32
}

/// Questions and writes of a stage to Redis: of one key one after the other, a limited number at once, each again until
/// Redis has answered.
///
/// The limit bounds the answers that come in one turn of the event loop: a single record has tens of thousands of
/// tokens. Holds all writes that have not ended; their number is for the owner to limit. Bound to the shard's event
/// loop.
final class RedisWrites<Key: Hashable, Write> {
    typealias Turn = OrderedWrites<Key, Write>.Turn

    /// Makes a write whose turn has come, and ends or fails the turn, then or later.
    var onTurn: (Turn) -> Void = { _ in }
    /// Called with the first write that failed since those that had failed were made again.
    var onFailure: (Write, RedisError) -> Void = { _, _ in }

    private let availability: RedisAvailability
    private let eventLoop: any EventLoop
    private var writes = OrderedWrites<Key, Write>(most: ShardLimits.redisWrites)
    /// Turns that have come while a write was being made, or while enough were made in this turn of the event loop.
    private var due = CircularBuffer<Turn>()
    private var isMaking = false

    init(_ availability: RedisAvailability, _ eventLoop: any EventLoop) {
        self.availability = availability
        self.eventLoop = eventLoop
    }

    var isEmpty: Bool { writes.isEmpty }

    /// Some write of the key has not ended.
    func contains(_ key: Key) -> Bool { writes.contains(key) }

    /// The turn has not ended, nor was it taken, nor has the shard ended: its answer counts.
    func isOpen(_ turn: Turn) -> Bool { !availability.isClosed && writes.isOpen(turn) }

    /// Makes a write as soon as its turn comes; possibly before the call returns.
    func add(_ write: Write, of key: Key) { begin(writes.add(write, of: key)) }

    /// Ends an open turn: Redis has the write, or never will. The next one's turn comes.
    func end(_ turn: Turn) { begin(writes.end(turn)) }

    /// Makes the write of an open turn again after a while.
    func fail(_ turn: Turn, _ error: RedisError) {
        guard writes.fail(turn) else { return }
        onFailure(turn.write, error)
        // The writes may run twice.
        eventLoop.assumeIsolated().scheduleTask(in: ShardLimits.writeAgain) { [weak self] in
            guard let self else { return }
            due += writes.takeFailed()
            makeDue()
        }
    }

    /// Takes all writes, in the order of adding. No turn is open then.
    func takeAll() -> [Write] { writes.takeAll() }

    private func begin(_ turn: Turn?) {
        guard let turn else { return }
        due.append(turn)
        makeDue()
    }

    /// A write that ends at once lets the next one begin: not within its own call, and not without end.
    private func makeDue() {
        guard !isMaking, !availability.isClosed else { return }
        isMaking = true
        var room = ShardLimits.redisWrites
        while room > 0, let turn = due.popFirst() {
            guard writes.isOpen(turn) else { continue }
            onTurn(turn)
            room -= 1
        }
        isMaking = false
        guard !due.isEmpty else { return }
        eventLoop.assumeIsolated().scheduleTask(in: .socketTurn) { [weak self] in self?.makeDue() }
    }
}
