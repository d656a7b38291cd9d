public import NIOCore
import NIOPosix

/// The servers that hold the keys, as one: a Redis Cluster, or a single server, which is a cluster of one.
///
/// Routes each command to the master that serves its slot, over one pipelined ``RedisConnection`` per master, and
/// follows the cluster when it moves slots or a replica takes over. A node that hangs holds up its own slots only.
///
/// Commands of one slot run and complete in the order sent, as on a ``RedisConnection``. Exception: a command that was
/// redirected, or had to wait because no node could run it, completes after some that were sent behind it. A command
/// lost in flight is ``RedisError/maybeExecuted(reason:)``, as ever: the caller decides whether to repeat it.
///
/// A command that a node refuses for the moment (a slot that moves, a replica that takes over) is sent again for the
/// command time-out, then it fails with the server's error; see ``ClusterPatience``.
///
/// A single server has to be a master. One that is a replica, or becomes one, is given up, and its name is connected to
/// again, behind which another server may be by then, or its sentinels are asked again. What it refused as a replica
/// goes there, in the order sent.
///
/// Bound to one event loop: create it there, call everything there, all callbacks come there. Not Sendable. The owner
/// must ``close()`` it.
///
/// Source: Redis Cluster specification, "Redirection and resharding", "Clients first connection and handling of
/// redirections".
public final class RedisCluster {
    public typealias Completion = RedisConnection.Completion

    public let configuration: Configuration
    public let eventLoop: any EventLoop

    /// Called when all masters are connected, and whenever a connection is lost or cannot be made. Not called by
    /// ``close()``.
    public var onStateChange: ((RedisConnectionState) -> Void)?
    /// Called when another set of masters is known, and when the connection to one of them is made (again).
    public var onMasters: (() -> Void)?

    /// Commands so far that were redirected, had to wait, or were refused by a replica. While it does not change, the
    /// commands of a slot run in the order sent.
    public internal(set) var detours = 0

    /// The command time-out of the connections; also how long a command that nodes refuse to run is sent again.
    let commandTimeout: TimeAmount?
    var topology = ClusterTopology()
    /// Connections to the masters that serve slots, in the order of `topology.masters`.
    var masters: [RedisConnection] = []
    /// All connections in use: to masters, to nodes named by a redirection, to a node asked for the map.
    var nodes: [RedisAddress: RedisConnection] = [:]
    /// Connections not in use any more; each is closed when its last command has completed.
    var retired: [RedisConnection] = []
    var refresh: ClusterRefresh
    var refreshTimer: Scheduled<Void>?
    /// Until the next look at the role of a single server.
    var roleTimer: Scheduled<Void>?
    /// The node to ask for the map once its connection is made.
    var asked: RedisAddress?
    var parked: ParkedCommands
    var parkedTimer: (due: NIODeadline, task: Scheduled<Void>)?
    /// The reason why there is no map.
    var problem = "not connected yet"
    /// All masters were connected at the last report.
    var wasReady = false
    var isClosed = false

    /// Makes an idle client on `eventLoop`; ``start()`` begins to connect.
    public init(configuration: Configuration, eventLoop: any EventLoop) {
        eventLoop.preconditionInEventLoop()
        self.configuration = configuration
        self.eventLoop = eventLoop
        commandTimeout = configuration.connection(configuration.seeds[0]).commandTimeout
        parked = ParkedCommands(
            limitCommands: configuration.parkedLimitCommands,
            limitBytes: configuration.parkedLimitBytes
        )
        refresh = ClusterRefresh(
            settings: .init(
                interval: configuration.refreshInterval,
                minimumInterval: configuration.minimumRefreshInterval,
                timeout: configuration.refreshTimeout,
                delay: configuration.refreshDelay
            ),
            now: .now()
        )
    }

    deinit {
        precondition(isClosed, "a RedisCluster must be closed by its owner")
    }

    /// Every slot has a connected master.
    public var isReady: Bool {
        topology.isComplete && masters.allSatisfy(\.isReady)
    }

    /// The masters that serve slots; empty until the map is known.
    public var masterAddresses: [RedisAddress] { topology.masters }

    /// Begins to connect, and from then on follows the cluster until it is closed. Commands may be sent before.
    public func start() {
        eventLoop.preconditionInEventLoop()
        guard !isClosed, nodes.isEmpty else { return }
        if configuration.kind == .single {
            let node = configuration.seeds[0].node
            connection(to: node).demandMaster()
            watchRole()
            adopt([.all(node)])
        } else {
            turnRefresh()
        }
    }

    /// Sends a command.
    ///
    /// - Parameters:
    ///   - slot: The slot of all its keys.
    ///   - write: Writes exactly one command; called before `send` returns, unless the command is refused.
    ///   - completion: Called once; **before `send` returns** when the command is refused at once, because the client
    ///     is closed or too much is waiting for the slot's master (``RedisError/closed``,
    ///     ``RedisError/notSent(reason:)``).
    public func send(
        slot: RedisSlot,
        _ write: (inout RedisCommandWriter) -> Void,
        _ completion: @escaping Completion
    ) {
        send(slot: slot, write, .closure(completion))
    }

    /// Sends a command whose outcome goes to a receiver, under the rules of ``send(slot:_:_:)``.
    ///
    /// - Parameter number: names the command to the receiver.
    public func send(
        slot: RedisSlot,
        _ write: (inout RedisCommandWriter) -> Void,
        to receiver: any RedisReceiver,
        number: Int
    ) {
        send(slot: slot, write, .receiver(receiver, number: number))
    }

    @inline(__always)
    private func send(
        slot: RedisSlot,
        _ write: (inout RedisCommandWriter) -> Void,
        _ completion: CommandCompletion
    ) {
        if let owner = topology.owner(of: slot), !isClosed {
            masters[owner].send(.init(completion: completion, slot: slot), write)
        } else {
            eventLoop.preconditionInEventLoop()
            var writer = RedisCommandWriter(buffer: ByteBuffer())
            write(&writer)
            dispatch(command(slot: slot, bytes: writer.finish(), completion))
        }
    }

    /// Runs a script by its hash on the master of the slot. A server that does not have the script receives it.
    ///
    /// - Parameters: as in ``send(slot:_:_:)`` and `RedisConnection.evaluate`.
    public func evaluate(
        _ script: RedisScript,
        slot: RedisSlot,
        keyCount: Int,
        argumentCount: Int,
        _ write: (inout RedisCommandWriter) -> Void,
        _ completion: @escaping Completion
    ) {
        eventLoop.preconditionInEventLoop()
        let call = script.call(keyCount: keyCount, argumentCount: argumentCount, write)
        dispatch(command(slot: slot, bytes: call, script: script, .closure(completion)))
    }

    /// Sends a command to one of ``masterAddresses``, whatever its slots. For questions to the server itself, or for
    /// walks over its keys. The command follows no redirection.
    ///
    /// - Parameter completion: ``RedisError/notSent(reason:)`` at once if that master is gone.
    public func send(
        to master: RedisAddress,
        _ write: (inout RedisCommandWriter) -> Void,
        _ completion: @escaping Completion
    ) {
        eventLoop.preconditionInEventLoop()
        guard let position = topology.masters.firstIndex(of: master), !isClosed else {
            completion(.failure(isClosed ? .closed : .notSent(reason: "\(master) serves no slots")))
            return
        }
        masters[position].send(write, completion)
    }

    /// Ends the client for good. Commands in flight fail as ``RedisError/maybeExecuted(reason:)``, waiting ones as
    /// ``RedisError/closed``, before the call returns. Closing twice is harmless.
    public func close() {
        eventLoop.preconditionInEventLoop()
        isClosed = true
        refreshTimer?.cancel()
        refreshTimer = nil
        roleTimer?.cancel()
        roleTimer = nil
        parkedTimer?.task.cancel()
        parkedTimer = nil
        let connections = nodes.sorted { $0.key < $1.key }.map(\.value) + retired
        nodes = [:]
        masters = []
        retired = []
        for connection in connections { connection.close() }
        let (expired, others) = parked.takeAll(now: .now())
        for command in expired + others { command.completion(.failure(.closed)) }
    }
}
