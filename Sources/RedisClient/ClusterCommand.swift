import NIOCore

/// A command that a ``RedisCluster`` keeps: nobody could run it yet, or it is a call of a script, which may have to be
/// loaded wherever it ends up.
struct ClusterCommand {
    var slot: RedisSlot
    var bytes: ByteBuffer
    /// Set for a call of a script.
    var script: RedisScript?
    /// From then on it fails rather than wait again; nil: never.
    var deadline: NIODeadline?
    /// Redirections followed.
    var redirections = 0
    /// Waits because nobody could run it.
    var waits = 0
    /// Why it waits: what it fails with at its deadline.
    var reason: RedisError?
    var completion: RedisConnection.Completion
}

/// The commands of a ``RedisCluster`` that wait for a map, or for a node to get over its trouble: within bounds, in the order
/// in which they came. Time is an argument.
struct ParkedCommands {
    let limitCommands: Int
    let limitBytes: Int

    private(set) var commands: [ClusterCommand] = []
    private var byteCount = 0

    init(limitCommands: Int, limitBytes: Int) {
        self.limitCommands = limitCommands
        self.limitBytes = limitBytes
    }

    var isFull: Bool { commands.count >= limitCommands || byteCount >= limitBytes }

    /// Takes one more; the caller sees to it that there is room.
    mutating func append(_ command: ClusterCommand) {
        commands.append(command)
        byteCount += command.bytes.readableBytes
    }

    /// Hands all of them out, those first whose time is over.
    mutating func takeAll(now: NIODeadline) -> (expired: [ClusterCommand], others: [ClusterCommand]) {
        let taken = commands
        commands = []
        byteCount = 0
        let isOver: (ClusterCommand) -> Bool = { $0.deadline.map { $0 <= now } ?? false }
        return (taken.filter(isOver), taken.filter { !isOver($0) })
    }
}
