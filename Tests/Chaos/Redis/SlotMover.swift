import TestSupport

/// Moves slots of the cluster to and fro, one at a time and key by key, while they are written to.
///
/// Owned by one thread; its methods block.
final class SlotMover {
    private let nodes: RedisNodes
    private let slots: [Int]
    private var underWay: SlotMigration?
    private var nextKey = ContinuousClock.now

    private static let betweenKeys = Duration.milliseconds(200)
    private static let keysAtEnd = 100

    /// - Parameter slots: those to move; at least one.
    init(nodes: RedisNodes, slots: [Int]) {
        precondition(!slots.isEmpty, "there is something to move")
        self.nodes = nodes
        self.slots = slots
    }

    /// - Parameters:
    ///   - pick: which slot, modulo their number.
    ///   - target: which other master, modulo their number.
    func open(_ pick: Int, to target: Int) throws {
        underWay = try nodes.beginMove(ofSlot: slots[pick % slots.count], to: target)
    }

    /// Moves one key if that is due.
    func moveNextKey() throws {
        guard let underWay, nextKey <= .now else { return }
        nextKey = .now + Self.betweenKeys
        _ = try underWay.moveKeys(limit: 1)
    }

    /// Moves what is left, and gives the slot away.
    func close() throws {
        guard let underWay else { return }
        self.underWay = nil
        while try underWay.moveKeys(limit: Self.keysAtEnd) > 0 {}
        try underWay.end()
    }
}
