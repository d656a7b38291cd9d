import Foundation
import TestSupport

/// Two Redis servers of the run's own, a master and its replica, and three sentinels, which let the replica take over.
///
/// Owned by one thread; its methods block.
final class WatchedRedis: RedisFailOver {
    private let servers: [RedisNode]
    private let sentinels: [RedisNode]
    var cut: (master: RedisNode, replica: RedisNode)?

    private static let name = "news"
    private static let address = "127.0.0.1"
    /// Two sentinels that have not heard of the master for that long let the replica take over. Longer than a busy
    /// machine keeps it from answering.
    private static let downMilliseconds = 2000
    /// Sentinels that found no replica fit to take over try again after twice that time.
    private static let failOverMilliseconds = 5000

    /// Starts them and returns when the replica is in step, and all sentinels know of each other and of it.
    ///
    /// - Parameter directory: for the servers' directories.
    init(directory: String) throws {
        let port = try freePort()
        // Sentinels write into the file of a server which one it replicates: it comes back as what it was last.
        servers = [
            try Self.node(port, directory, file: ""),
            try Self.node(try freePort(), directory, file: "replicaof \(Self.address) \(port)\n"),
        ]
        sentinels = try (0..<3).map { _ in
            try Self.node(
                try freePort(),
                directory,
                file: """
                    sentinel monitor \(Self.name) \(Self.address) \(port) 2
                    sentinel down-after-milliseconds \(Self.name) \(Self.downMilliseconds)
                    sentinel failover-timeout \(Self.name) \(Self.failOverMilliseconds)

                    """,
                isSentinel: true
            )
        }
        do {
            for server in servers { try server.start() }
            // Sentinels ask a master for its replicas at their start, and again ten seconds later.
            try wait(for: "Redis' replica to be in step") { isInStep(servers[1]) }
            for sentinel in sentinels { try sentinel.start() }
            try waitUntilSettled()
        } catch {
            end()
            throw error
        }
    }

    private static func node(
        _ port: Int,
        _ directory: String,
        file: String,
        isSentinel: Bool = false
    ) throws -> RedisNode {
        let own = "\(directory)/redis-\(port)"
        try FileManager.default.createDirectory(atPath: own, withIntermediateDirectories: true)
        let path = "\(own)/redis.conf"
        try file.write(toFile: path, atomically: false, encoding: .utf8)
        return RedisNode(
            port: port,
            directory: own,
            arguments: isSentinel
                ? ["--sentinel"]
                : RedisNode.durable + [
                    // Otherwise a replica waits for others to share the transfer with.
                    "--repl-diskless-sync-delay", "0",
                    // A master that is stopped waits no longer for a replica that is stopped as well.
                    "--shutdown-timeout", "1",
                ],
            file: path
        )
    }

    var urls: String {
        "redis+sentinel://" + sentinels.map { "\(Self.address):\($0.port)" }.joined(separator: ",") + "/\(Self.name)"
    }

    var entry: String { "redis://\(Self.address):\(servers[0].port)" }

    func end() {
        for node in sentinels + servers { node.kill() }
    }

    func stop() {
        // The sentinels first, and all at once: the replica takes no place of a master that is stopped.
        for node in sentinels + servers { node.askToStop() }
        for node in sentinels + servers { node.stop() }
    }

    func start() throws {
        for node in servers + sentinels { try node.start() }
        try waitUntilSettled()
    }

    func pair(_ pick: Int) throws -> (master: RedisNode, replica: RedisNode) {
        try waitUntilSettled()
        guard let master = servers.first(where: isMaster), let replica = servers.first(where: { $0 !== master }) else {
            throw ChaosError("no Redis server is a master")
        }
        return (master, replica)
    }

    /// All sentinels have to say so.
    func isMaster(_ node: RedisNode) -> Bool {
        sentinels.allSatisfy {
            $0.says(
                "name=\(Self.name),status=ok,address=\(Self.address):\(node.port),"
                    + "slaves=\(servers.count - 1),sentinels=\(sentinels.count)",
                "INFO",
                "sentinel"
            )
        }
    }

    private func waitUntilSettled() throws {
        try wait(for: "Redis' sentinels to agree and the replica to be in step") {
            guard let master = servers.first(where: isMaster), master.says("role:master", "INFO", "replication") else {
                return false
            }
            return servers.allSatisfy { $0 === master || isInStep($0) }
        }
    }

    private func isInStep(_ server: RedisNode) -> Bool {
        server.says("master_link_status:up", "INFO", "replication")
    }
}
