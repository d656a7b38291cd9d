import RedisClient

/// A server's treatment of acknowledged data, as told by itself.
///
/// The token state must outlive a crash (append-only file) and must not be thrown away when memory runs short
/// (`noeviction`): a lost tombstone sends to a dead token, a lost registration keeps a live one silent.
enum RedisDurability: Equatable {
    case good
    /// The faults, each with the setting and its value.
    case bad([String])
    /// The server does not tell.
    case unknown(String)

    /// - Parameters:
    ///   - persistence: INFO's section of that name.
    ///   - memory: INFO's section of that name.
    init(persistence: RedisInfo, memory: RedisInfo) {
        guard let file = persistence["aof_enabled"], let policy = memory["maxmemory_policy"] else {
            self = .unknown("INFO does not tell aof_enabled and maxmemory_policy")
            return
        }
        var faults: [String] = []
        if file != "1" { faults.append("appendonly is no, and must be yes") }
        if policy != "noeviction" { faults.append("maxmemory-policy is \(policy), and must be noeviction") }
        self = faults.isEmpty ? .good : .bad(faults)
    }
}
