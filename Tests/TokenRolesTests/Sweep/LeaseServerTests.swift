import PipelineCore
import RedisClient
import Testing

@testable import PipelineTestSupport
@testable import TokenState

/// The lease of the sweep and of lists: its time, and its key on a real server.
@Suite struct LeaseServerTests {
    @Test("A lease is ours until another has it, or it has run out: an answer that is missing ends nothing")
    func term() {
        func at(_ second: UInt64) -> MonotonicTime { MonotonicTime(nanoseconds: second * 1_000_000_000) }
        var term = Lease.Term(duration: .seconds(60))
        let missing = Result<Bool, RedisError>.failure(.server(prefix: "ERR", message: ""))
        func answered(_ answer: Result<Bool, RedisError>, at askedAt: UInt64, now: UInt64) -> Bool {
            term.answered(answer, askedAt: at(askedAt), now: at(now))
        }
        #expect(!answered(missing, at: 0, now: 1))
        #expect(answered(.success(true), at: 10, now: 15))
        #expect(answered(missing, at: 40, now: 69))
        #expect(!answered(missing, at: 60, now: 70))
        #expect(answered(.success(true), at: 80, now: 81))
        #expect(!answered(.success(false), at: 90, now: 91))
        #expect(!answered(missing, at: 92, now: 93))
        #expect(!answered(.success(true), at: 100, now: 160), "an answer that took too long is none")
    }

    @Test("A lease is held by its owner, again and again, until it gives it back; another's is left alone")
    func leases() async throws {
        try await withTokenStore { store async throws in
            func hold(_ owner: String) async throws -> Bool {
                try await store.table { table, completion in
                    Lease(table.redis, key: "l:test", owner: owner, duration: .seconds(60)).hold(completion)
                }
            }
            func release(_ owner: String) async throws {
                let _: Bool = try await store.table { table, completion in
                    Lease(table.redis, key: "l:test", owner: owner, duration: .seconds(60)).release {
                        completion(.success(true))
                    }
                }
            }
            #expect(try await hold("a"))
            #expect(try await hold("a"))
            #expect(try await !hold("b"))
            try await release("b")
            #expect(try await !hold("b"))
            let left = try await store.command(Array("PTTL".utf8), Array("l:test".utf8))
            #expect((1...60_000).contains(Int(left ?? "") ?? 0))
            try await release("a")
            #expect(try await hold("b"))
        }
    }
}
