import Workbench

/// A Redis Cluster of the test's own on the loopback interface: three masters with a replica each.
public final class RedisClusterProcess: Sendable {
    /// The masters at first, then as many others, which replicate them in some order.
    public let servers: [RedisServerProcess]

    public static let masterCount = 3

    /// Starts it and returns when all slots are served and all replicas are in step.
    ///
    /// - Parameters:
    ///   - nodeTimeoutMilliseconds: after this silence of a master, and about a second, its replica takes over.
    ///   - tls: for servers that are to be had over TLS only, by clients and by each other.
    public init(nodeTimeoutMilliseconds: Int = 1000, arguments: [String] = [], tls: RedisTLSFiles? = nil) throws {
        var servers: [RedisServerProcess] = []
        for _ in 0..<(2 * Self.masterCount) {
            servers.append(
                try RedisServerProcess(
                    port: freePort(busDistance: 10_000),
                    arguments: [
                        "--cluster-enabled", "yes", "--cluster-node-timeout", "\(nodeTimeoutMilliseconds)",
                        // Otherwise a replica waits for others to share the transfer with.
                        "--repl-diskless-sync-delay", "0",
                        // It takes over however long ago it last heard of its master.
                        "--cluster-replica-validity-factor", "0",
                    ] + arguments,
                    tls: tls
                )
            )
        }
        self.servers = servers
        let creation = try printed(
            by: ["redis-cli"] + (tls?.clientArguments ?? []) + ["--cluster", "create"]
                + servers.map { "127.0.0.1:\($0.port)" } + ["--cluster-replicas", "1", "--cluster-yes"]
        )
        for (number, server) in servers.enumerated() {
            try server.waitForLog("Cluster state changed: ok", "the cluster was not made: \(creation)")
            guard number >= Self.masterCount else { continue }
            try server.waitForLog("sync: Finished with success", "a replica is not in step: \(creation)")
        }
    }

    /// URLs of all servers, comma-separated.
    ///
    /// - Parameter credentials: `user:password`.
    public func urls(credentials: String? = nil) -> String {
        servers.map { $0.url(credentials: credentials) }.joined(separator: ",")
    }

    public var masters: ArraySlice<RedisServerProcess> { servers.prefix(Self.masterCount) }

    /// The replicas stand still, and what is on its way to them is gone: a master that is killed takes with it
    /// everything that is written from now on.
    public func cutReplicas() throws {
        for replica in servers.suffix(Self.masterCount) { replica.pause() }
        for master in masters { _ = try master.command("CLIENT", "KILL", "TYPE", "replica") }
    }

    /// Kills a master that has heard of no replica since ``cutReplicas()``, and lets one take over.
    public func failOver() {
        masters[0].kill()
        for replica in servers.suffix(Self.masterCount) { replica.resume() }
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
