import RedisClient

/// A server's treatment of acknowledged data, as told by itself. Pure.
///
/// The token state must outlive a crash (append-only file, written out every second at least) and must not be thrown
/// away when memory runs short (`noeviction`): a lost tombstone sends to a dead token, a lost registration keeps a live
/// one silent.
///
/// Source: Redis documentation, "Redis persistence", "Key eviction", INFO.
struct RedisDurability: Equatable {
    /// Reasons why the server may lose what it has acknowledged, each with the setting to change or the thing to mend.
    private(set) var faults: [String] = []
    /// Failures that lose nothing of what is acknowledged.
    private(set) var troubles: [String] = []
    /// Settings that the server does not tell.
    private(set) var unknown: [String] = []

    /// - Parameters:
    ///   - persistence: INFO's section of that name; empty if the server refuses it.
    ///   - memory: INFO's section of that name; the same.
    ///   - appendfsync: the answer to CONFIG GET; nil: the user may not ask. INFO does not tell it.
    init(persistence: RedisInfo, memory: RedisInfo, appendfsync: String?) {
        switch persistence["aof_enabled"] {
        case "1"?: judge(appendfsync: appendfsync)
        case nil: unknown.append("appendonly")
        default: faults.append("appendonly is no, and must be yes")
        }
        switch memory["maxmemory_policy"] {
        case "noeviction"?: break
        case nil: unknown.append("maxmemory-policy")
        case let policy?: faults.append("maxmemory-policy is \(policy), and must be noeviction")
        }
        if persistence.failed("aof_last_write_status") {
            // Until then the server refuses every change: it acknowledges nothing that it might lose.
            troubles.append("aof_last_write_status is err: the append-only file cannot be written; see to the disk")
        }
        if persistence.failed("aof_last_bgrewrite_status") {
            troubles.append("aof_last_bgrewrite_status is err: the append-only file grows; see to memory and disk")
        }
        if persistence.failed("rdb_last_bgsave_status") {
            troubles.append("rdb_last_bgsave_status is err: there is no new snapshot; see to memory and disk")
        }
    }

    private mutating func judge(appendfsync: String?) {
        switch appendfsync {
        case "always"?, "everysec"?: break
        case nil: unknown.append("appendfsync")
        case let other?: faults.append("appendfsync is \(other), and must be everysec or always")
        }
    }

    /// Nothing is unknown but `appendfsync`, for which a user needs CONFIG. Its stock value is good.
    var isKnownButForCONFIG: Bool { unknown == ["appendfsync"] }
}

extension RedisInfo {
    /// The last attempt failed. A server that does not tell has no such file, or is not Redis.
    fileprivate func failed(_ status: String) -> Bool { self[status] == "err" }
}
