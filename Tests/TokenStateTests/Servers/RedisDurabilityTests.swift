import Testing

@testable import TokenState

/// The judgement on what a server tells of itself.
@Suite struct RedisDurabilityTests {
    private static let good =
        "# Persistence\r\naof_enabled:1\r\naof_last_write_status:ok\r\nrdb_last_bgsave_status:ok\r\n"

    private func judge(
        _ persistence: String = RedisDurabilityTests.good,
        policy: String? = "noeviction",
        appendfsync: String? = "everysec"
    ) -> RedisDurability {
        RedisDurability(
            persistence: RedisInfo(persistence),
            memory: RedisInfo(policy.map { "maxmemory_policy:\($0)\r\n" } ?? ""),
            appendfsync: appendfsync
        )
    }

    @Test("A server with an append-only file, written out every second or at once, and without eviction is in order")
    func durable() {
        for appendfsync in ["everysec", "always"] {
            let verdict = judge(appendfsync: appendfsync)
            #expect(verdict.faults.isEmpty && verdict.troubles.isEmpty && verdict.unknown.isEmpty)
        }
    }

    @Test("Each fault names the setting, its value and the one that is good")
    func faults() {
        #expect(judge("aof_enabled:0\r\n").faults == ["appendonly is no, and must be yes"])
        #expect(judge(policy: "volatile-ttl").faults == ["maxmemory-policy is volatile-ttl, and must be noeviction"])
        #expect(judge(appendfsync: "no").faults == ["appendfsync is no, and must be everysec or always"])
        let all = judge("aof_enabled:0\r\naof_last_write_status:err\r\n", policy: "allkeys-lru", appendfsync: "no")
        // The policy of writing a file out does not matter if there is none.
        #expect(all.faults.count == 2 && all.troubles.count == 1)
    }

    @Test(
        "A file that cannot be written or rewritten, or a failed snapshot, is no fault: nothing acknowledged goes"
    )
    func troubles() {
        let unwritten = judge("aof_enabled:1\r\naof_last_write_status:err\r\n")
        #expect(unwritten.faults.isEmpty && unwritten.troubles.count == 1)
        let background = "aof_enabled:1\r\naof_last_bgrewrite_status:err\r\nrdb_last_bgsave_status:err\r\n"
        let verdict = judge(background)
        #expect(verdict.faults.isEmpty && verdict.troubles.count == 2)
    }

    @Test("A setting that the server does not tell is unknown, and no fault")
    func unknown() {
        let silent = judge("", policy: nil, appendfsync: nil)
        #expect(silent.faults.isEmpty && silent.unknown == ["appendonly", "maxmemory-policy"])
        #expect(!silent.isKnownButForCONFIG)
        let forbidden = judge(appendfsync: nil)
        #expect(forbidden.faults.isEmpty && forbidden.unknown == ["appendfsync"] && forbidden.isKnownButForCONFIG)
    }
}
