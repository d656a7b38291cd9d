import NIOCore

/// A command kept by a ``RedisCluster``: no node could run it yet, or it calls a script. A script may have to be loaded
/// on the node that runs it.
struct ClusterCommand {
    var slot: RedisSlot
    var bytes: ByteBuffer
    /// Set for a call of a script.
    var script: RedisScript?
    /// After this time the command fails rather than wait again; nil: never.
    var deadline: NIODeadline?
    /// Redirections followed.
    var redirections = 0
    /// The number of waits because no node could run the command.
    var waits = 0
    /// The reason for waiting, and the error at the deadline.
    var reason: RedisError?
    var completion: RedisConnection.Completion
}

/// The commands of a ``RedisCluster`` that wait for a map, or for the recovery of a node. Bounded, in the order in
/// which they came. Time is an argument.
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

    /// Takes one more command; the caller has checked that there is room.
    mutating func append(_ command: ClusterCommand) {
        commands.append(command)
        byteCount += command.bytes.readableBytes
    }

    /// Hands all commands out, the expired ones first.
    mutating func takeAll(now: NIODeadline) -> (expired: [ClusterCommand], others: [ClusterCommand]) {
        let taken = commands
        commands = []
        byteCount = 0
        let isOver: (ClusterCommand) -> Bool = { $0.deadline.map { $0 <= now } ?? false }
        return (taken.filter(isOver), taken.filter { !isOver($0) })
    }
}
