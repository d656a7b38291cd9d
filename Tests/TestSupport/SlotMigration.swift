/// The move of one slot of a Redis Cluster to another master, step by step, as `redis-cli --cluster reshard` makes it.
/// Its methods block.
///
/// Source: Redis documentation, CLUSTER SETSLOT, "Redis Cluster live resharding explained".
public struct SlotMigration: Sendable {
    public let slot: Int
    private let source: any RedisCommandLine
    private let target: any RedisCommandLine

    /// - Parameters:
    ///   - source: the master that serves the slot.
    ///   - target: another one.
    public init(of slot: Int, from source: any RedisCommandLine, to target: any RedisCommandLine) {
        self.slot = slot
        self.source = source
        self.target = target
    }

    /// Chooses a master that does not serve the slot.
    public init(of slot: Int, in cluster: RedisClusterProcess) throws {
        let source = try cluster.master(ofSlot: slot)
        guard let target = cluster.masters.first(where: { $0.port != source.port }) else {
            throw RedisServerProcess.Failure(description: "there is no other master")
        }
        self.init(of: slot, from: source, to: target)
    }

    /// Opens the slot on both sides.
    public func begin() throws {
        try run(on: target, ["CLUSTER", "SETSLOT", "\(slot)", "IMPORTING", source.nodeID()])
        try run(on: source, ["CLUSTER", "SETSLOT", "\(slot)", "MIGRATING", target.nodeID()])
    }

    /// Moves some keys, of any bytes; returns how many. None are left when that is 0.
    public func moveKeys(limit: Int) throws -> Int {
        let list = try source.command("--no-raw", "CLUSTER", "GETKEYSINSLOT", "\(slot)", "\(limit)")
        // Each line is `1) "key"`, with escapes that the other option reads.
        let keys = list.split(whereSeparator: \.isNewline).compactMap { line in
            line.firstIndex(of: "\"").map { String(line[$0...]) }
        }
        guard !keys.isEmpty else { return 0 }
        let words = ["--quoted-input", "MIGRATE", "127.0.0.1", "\(target.port)", "\"\"", "0", "5000", "KEYS"]
        try run(on: source, words + keys)
        return keys.count
    }

    /// Closes the slot, which is the target's from then on. All keys have been moved.
    public func end() throws {
        for server in [target, source] {
            try run(on: server, ["CLUSTER", "SETSLOT", "\(slot)", "NODE", target.nodeID()])
        }
    }

    private func run(on server: any RedisCommandLine, _ words: [String]) throws {
        let answer = try server.command(words)
        guard answer.hasPrefix("OK") else {
            throw RedisServerProcess.Failure(description: "\(words.joined(separator: " ")): \(answer)")
        }
    }
}
