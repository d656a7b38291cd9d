import NIOCore

/// A command kept by a ``RedisCluster``: no node could run it yet, or it calls a script. A script may have to be loaded
/// on the node that runs it.
struct ClusterCommand {
    var slot: RedisSlot
    var bytes: ByteBuffer
    /// Set for a call of a script.
    var script: RedisScript?
    var patience: ClusterPatience
    /// The reason for waiting, and the error at the deadline.
    var reason: RedisError?
    var completion: CommandCompletion
}

/// The commands of a ``RedisCluster`` that wait for a map, or until a node can run them. Bounded, in the order in which
/// they came. Time is an argument.
struct ParkedCommands {
    /// Commands due within this time are handed out together: with many of them a timer for each would cost more than
    /// to ask a little early.
    static let slack = TimeAmount.milliseconds(5)

    let limitCommands: Int
    let limitBytes: Int

    private var parked: [(command: ClusterCommand, due: NIODeadline)] = []
    private var byteCount = 0
    /// The earliest time at which a command is due; nil: none waits.
    private(set) var nextDue: NIODeadline?

    init(limitCommands: Int, limitBytes: Int) {
        self.limitCommands = limitCommands
        self.limitBytes = limitBytes
    }

    var count: Int { parked.count }
    var isFull: Bool { parked.count >= limitCommands || byteCount >= limitBytes }

    /// Takes one more command, which is due at that time; the caller has checked that there is room.
    mutating func append(_ command: ClusterCommand, due: NIODeadline) {
        parked.append((command, due))
        byteCount += command.bytes.readableBytes
        nextDue = nextDue.map { min($0, due) } ?? due
    }

    /// Hands out the commands that are due, those whose time is over apart.
    mutating func takeDue(now: NIODeadline) -> (expired: [ClusterCommand], others: [ClusterCommand]) {
        takeCommands(now: now) { $0 <= now + Self.slack }
    }

    /// Hands out all commands, those whose time is over apart.
    mutating func takeAll(now: NIODeadline) -> (expired: [ClusterCommand], others: [ClusterCommand]) {
        takeCommands(now: now) { _ in true }
    }

    private mutating func takeCommands(
        now: NIODeadline,
        where isTaken: (_ due: NIODeadline) -> Bool
    ) -> (expired: [ClusterCommand], others: [ClusterCommand]) {
        let taken = parked.filter { isTaken($0.due) }.map(\.command)
        parked.removeAll { isTaken($0.due) }
        byteCount -= taken.reduce(0) { $0 + $1.bytes.readableBytes }
        nextDue = parked.map(\.due).min()
        return (
            taken.filter { $0.patience.isOver(now: now) },
            taken.filter { !$0.patience.isOver(now: now) }
        )
    }
}
