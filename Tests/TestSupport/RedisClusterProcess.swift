/// A Redis Cluster of the test's own on the loopback interface: three masters with a replica each.
public final class RedisClusterProcess: Sendable {
    /// The masters at first, then as many others, which replicate them in some order.
    public let servers: [RedisServerProcess]

    public static let masterCount = 3

    /// Starts it and returns when all slots are served and all replicas are in step.
    ///
    /// - Parameter nodeTimeoutMilliseconds: after this silence of a master, and about a second, its replica takes over.
    public init(nodeTimeoutMilliseconds: Int = 1000, arguments: [String] = []) throws {
        var servers: [RedisServerProcess] = []
        for _ in 0..<(2 * Self.masterCount) {
            servers.append(
                try RedisServerProcess(
                    port: freePort(busDistance: 10_000),
                    arguments: [
                        "--cluster-enabled", "yes", "--cluster-node-timeout", "\(nodeTimeoutMilliseconds)",
                        // Otherwise a replica waits for others to share the transfer with.
                        "--repl-diskless-sync-delay", "0",
                    ] + arguments
                )
            )
        }
        self.servers = servers
        let creation = try printed(
            by: ["redis-cli", "--cluster", "create"] + servers.map { "127.0.0.1:\($0.port)" }
                + ["--cluster-replicas", "1", "--cluster-yes"]
        )
        for (number, server) in servers.enumerated() {
            try server.waitForLog("Cluster state changed: ok", "the cluster was not made: \(creation)")
            guard number >= Self.masterCount else { continue }
            try server.waitForLog("sync: Finished with success", "a replica is not in step: \(creation)")
        }
    }

    /// The server that serves the slot, as most see it.
    public func master(ofSlot slot: Int) throws -> RedisServerProcess {
        for server in servers {
            let lines = try server.command("CLUSTER", "NODES").split(separator: "\n")
            guard let own = lines.first(where: { $0.contains("myself,master") }) else { continue }
            let ranges = own.split(separator: " ").dropFirst(8).compactMap { word -> ClosedRange<Int>? in
                let ends = word.split(separator: "-").compactMap { Int($0) }
                return ends.isEmpty ? nil : ends[0]...ends[ends.count - 1]
            }
            if ranges.contains(where: { $0.contains(slot) }) { return server }
        }
        throw RedisServerProcess.Failure(description: "nobody serves slot \(slot)")
    }
}

extension RedisServerProcess {
    /// The name that a cluster gave it.
    public func nodeID() throws -> String {
        String(try command("CLUSTER", "MYID").prefix { $0.isHexDigit })
    }
}
