import Foundation
import TestSupport

/// A Redis Cluster of the run's own: three masters with a replica each, which change places during the run.
///
/// Owned by one thread; its methods block.
final class RedisNodes: RedisFailOver {
    private let nodes: [RedisNode]
    var cut: (master: RedisNode, replica: RedisNode)?

    private static let masters = 3
    /// After this silence of a master, and a second or two, its replica takes over. Longer than a busy machine keeps
    /// one from answering.
    private static let nodeTimeoutMilliseconds = 2000
    private static let arguments =
        RedisNode.durable + [
            "--cluster-enabled", "yes", "--cluster-node-timeout", "\(nodeTimeoutMilliseconds)",
            // Otherwise a replica waits for others to share the transfer with.
            "--repl-diskless-sync-delay", "0",
            // It takes over however long ago it last heard of its master.
            "--cluster-replica-validity-factor", "0",
            // A master that is stopped waits no longer for replicas that are stopped as well.
            "--shutdown-timeout", "1",
        ]
    private static let creationSeconds = 60

    /// Starts it and returns when all slots are served and all replicas are in step.
    ///
    /// - Parameter directory: for the servers' directories.
    init(directory: String) throws {
        var nodes: [RedisNode] = []
        for _ in 0..<(2 * Self.masters) {
            let port = try freePort(busDistance: 10_000)
            let own = "\(directory)/redis-\(port)"
            try FileManager.default.createDirectory(atPath: own, withIntermediateDirectories: true)
            nodes.append(RedisNode(port: port, directory: own, arguments: Self.arguments))
        }
        self.nodes = nodes
        do {
            for node in nodes { try node.start() }
            try wait(for: "Redis' answers") { nodes.allSatisfy { $0.says("PONG", "PING") } }
            let creation = try RedisNode.redisCLI(
                ["--cluster", "create"] + nodes.map { "127.0.0.1:\($0.port)" }
                    + ["--cluster-replicas", "1", "--cluster-yes"],
                within: Self.creationSeconds
            )
            try wait(for: "the cluster; \(creation)") { try isSettled() }
        } catch {
            end()
            throw error
        }
    }

    var urls: String { nodes.map { "redis://127.0.0.1:\($0.port)" }.joined(separator: ",") }

    var entry: String { "redis://127.0.0.1:\(nodes[0].port)" }

    func end() {
        for node in nodes { node.kill() }
    }

    // MARK: Outage

    func stop() {
        // At once, so that none takes the place of one that is stopped.
        for node in nodes { node.askToStop() }
        for node in nodes { node.stop() }
    }

    func start() throws {
        for node in nodes { try node.start() }
        try waitUntilSettled()
    }

    // MARK: Fail-over

    func pair(_ pick: Int) throws -> (master: RedisNode, replica: RedisNode) {
        try waitUntilSettled()
        let view = try view()
        guard !view.masters.isEmpty else { throw ChaosError("no Redis server serves slots") }
        let master = view.masters[pick % view.masters.count]
        guard let replica = view.replica(of: master) else {
            throw ChaosError("the Redis server at port \(master.port) has no replica")
        }
        return (try node(master.port), try node(replica.port))
    }

    func isMaster(_ node: RedisNode) throws -> Bool {
        try view().masters.contains { $0.port == node.port }
    }

    // MARK: Slots

    /// Begins to move a slot to another master.
    ///
    /// - Parameter pick: which other master, modulo their number.
    func beginMove(ofSlot slot: Int, to pick: Int) throws -> SlotMigration {
        try waitUntilSettled()
        let view = try view()
        guard let source = view.master(ofSlot: slot) else { throw ChaosError("nobody serves slot \(slot)") }
        let others = view.masters.filter { $0 != source }
        guard !others.isEmpty else { throw ChaosError("there is no other master for slot \(slot)") }
        let target = others[pick % others.count]
        let migration = SlotMigration(of: slot, from: try node(source.port), to: try node(target.port))
        try migration.begin()
        return migration
    }

    // MARK: State

    private func node(_ port: Int) throws -> RedisNode {
        guard let node = nodes.first(where: { $0.port == port }) else {
            throw ChaosError("no Redis server of this run has port \(port)")
        }
        return node
    }

    private func view() throws -> ClusterView {
        ClusterView(try nodes.map { try $0.command("CLUSTER", "NODES") })
    }

    private func waitUntilSettled() throws {
        try wait(for: "Redis' servers to agree and replicas to be in step") { try isSettled() }
    }

    /// All servers are there and serve, and every master has a replica that has all its data.
    private func isSettled() throws -> Bool {
        let view = try view()
        guard view.nodes.count == nodes.count, view.masters.count == Self.masters else { return false }
        return view.masters.allSatisfy { view.replica(of: $0) != nil }
            && nodes.allSatisfy { $0.says("cluster_state:ok", "CLUSTER", "INFO") }
            && view.nodes.allSatisfy { each in
                each.master == nil
                    || nodes.contains { $0.port == each.port && $0.says("link_status:up", "INFO", "replication") }
            }
    }
}
