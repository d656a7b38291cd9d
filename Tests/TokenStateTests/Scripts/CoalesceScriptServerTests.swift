import PipelineCore
import RedisClient
import TestSupport
import Testing
import TokenState

@testable import PipelineTestSupport

/// The key is a contract; the script is run on a real server, and its rule on the simulated one.
@Suite struct CoalesceScriptServerTests {
    private static let key = Array("c:{sandbox:com.example.news:00}:window".utf8)
    /// Of the windows here, in milliseconds.
    private static let window: Int64 = 10_000

    /// A request as the script sees it.
    private struct Call {
        var now: Int64
        var at: Int64
        var offset: Int64 = 0
        var isDue = false
    }

    @Test("The key is c:, the hash tag of the token's key, and twelve bytes, other ones than for a request id")
    func layout() {
        let token = Array("123456789".utf8)
        let name = Array("score".utf8)
        let (coalescing, request) = name.withUnsafeBytes {
            (RequestFingerprint.key(coalescingKey: $0, in: .normal), RequestFingerprint.key(requestID: $0))
        }
        #expect(coalescing != request)
        let key = FingerprintKey(.window, environment: "sandbox", bundleID: "com.example.news")
        let bytes = token.withUnsafeBytes { token in
            [UInt8](unsafeUninitializedCapacity: key.count) { room, count in
                key.write(
                    RequestFingerprint(token: token, key: coalescing),
                    tag: 0xCB,
                    into: UnsafeMutableRawBufferPointer(room)
                )
                count = key.count
            }
        }
        #expect(bytes.starts(with: Array("c:{sandbox:com.example.news:cb}:".utf8)))
        #expect(bytes.count == "c:{sandbox:com.example.news:cb}:".utf8.count + 12)
    }

    @Test("The first request opens the window, the others wait for its end, and only then one is sent")
    func window() async throws {
        try await expect(
            [
                (Call(now: 1000, at: 500), 10_000), (Call(now: 4000, at: 700), 7000), (Call(now: 4000, at: 500), 7000),
                (Call(now: 10_999, at: 700, isDue: true), 1), (Call(now: 11_000, at: 700, isDue: true), 0),
            ],
            leaving: "0 700 0"
        )
    }

    @Test("A request that is asked for again is sent again at once; an older one is not; a newer one opens a window")
    func repeated() async throws {
        let sent = [
            (Call(now: 1000, at: 500, offset: 7), Int64(10_000)),
            (Call(now: 11_000, at: 500, offset: 7, isDue: true), 0),
        ]
        try await expect(
            sent + [
                (Call(now: 12_000, at: 500, offset: 7), 0), (Call(now: 12_000, at: 500, offset: 7, isDue: true), 0),
                (Call(now: 12_000, at: 500, offset: 6), 0), (Call(now: 12_000, at: 500, offset: 6, isDue: true), -1),
                (Call(now: 12_000, at: 499, offset: 8, isDue: true), -1),
            ],
            leaving: "0 500 7"
        )
        try await expect(sent + [(Call(now: 12_000, at: 500, offset: 8), 10_000)], leaving: "12000 500 7")
        try await expect(
            sent + [
                (Call(now: 12_000, at: 500, offset: 8, isDue: true), 10_000),
                (Call(now: 15_000, at: 500, offset: 7, isDue: true), 0),
                (Call(now: 22_000, at: 500, offset: 8, isDue: true), 0),
            ],
            leaving: "0 500 8"
        )
    }

    @Test("A window that is over, and in which nothing was sent, holds nothing up")
    func unused() async throws {
        try await expect(
            [
                (Call(now: 1000, at: 500), 10_000), (Call(now: 15_000, at: 600), 0),
                (Call(now: 15_000, at: 600, isDue: true), 0),
            ],
            leaving: "0 600 0"
        )
    }

    @Test("Where Redis has forgotten the window, what is due is sent")
    func forgotten() async throws {
        try await expect([(Call(now: 15_000, at: 600, isDue: true), 0)], leaving: "0 600 0")
    }

    @Test("A clock that was set back waits for a window at most, and large numbers stay exact")
    func clocks() async throws {
        let late = CoalesceScript.largestNumber
        try await expect(
            [
                (Call(now: 1_800_000_000_000, at: late - 1, offset: late - 1), 10_000),
                (Call(now: 1_700_000_000_000, at: late - 1, offset: late), 10_000),
                (Call(now: 1_800_000_010_000, at: late - 1, offset: late, isDue: true), 0),
                (Call(now: 1_800_000_010_000, at: late - 1, offset: late - 1, isDue: true), -1),
            ],
            leaving: "0 \(late - 1) \(late)"
        )
    }

    @Test("It is kept for two windows from when it was opened, or when something was sent", arguments: TokenStore.both)
    func lifetime(on server: TokenStore.Server) async throws {
        try await withTokenStore(on: server) { store in
            _ = try await store.coalesce(Self.key, now: 1000, window: Self.window, at: 1, offset: 1, isDue: false).get()
            #expect((10_001...20_000).contains(try await store.timeToLive(of: Self.key)))
            _ = try await store.coalesce(Self.key, now: 11_000, window: 60_000, at: 1, offset: 1, isDue: true).get()
            _ = try await store.coalesce(Self.key, now: 61_000, window: 60_000, at: 1, offset: 1, isDue: true).get()
            #expect((60_001...120_000).contains(try await store.timeToLive(of: Self.key)))
        }
    }

    @Test("A value of another form is refused, and not changed", arguments: TokenStore.both)
    func foreign(on server: TokenStore.Server) async throws {
        try await withTokenStore(on: server) { store in
            _ = try await store.bytes(Array("SET".utf8), Self.key, Array("1 2".utf8))
            let answer = try await store.coalesce(Self.key, now: 1, window: 1, at: 1, offset: 1, isDue: true)
            #expect(throws: RedisError.self) { try answer.get() }
            #expect(try await store.value(Self.key) == Array("1 2".utf8))
        }
    }

    @Test(
        "For all questions sends are a window apart, but for repetitions, and never go back",
        arguments: 0..<4,
        TokenStore.both
    )
    func spacing(seed: UInt64, on server: TokenStore.Server) async throws {
        var generator = SeededGenerator(seed: seed)
        try await withTokenStore(on: server) { store in
            var now: Int64 = 1_000_000
            var last: (at: Int64, offset: Int64, time: Int64)?
            for offset in 0..<400 as Range<Int64> {
                now += Int64(generator.pick(0...4000))
                let at = now - Int64(generator.pick(0...3000))
                let isDue = generator.chance(60)
                let answer = try await store.coalesce(
                    Self.key,
                    now: now,
                    window: Self.window,
                    at: at,
                    offset: offset,
                    isDue: isDue
                ).get()
                #expect((-1...Self.window).contains(answer))
                guard isDue, answer == 0 else { continue }
                if let last {
                    #expect((last.at, last.offset) < (at, offset))
                    #expect(last.time + Self.window <= now)
                }
                last = (at, offset, now)
            }
            #expect(last != nil)
        }
    }

    // MARK: Helpers

    /// Calls the script one by one on empty servers, the real one and the simulated one.
    private func expect(_ calls: [(Call, Int64)], leaving value: String) async throws {
        for server in TokenStore.both {
            try await withTokenStore(on: server) { store in
                for (call, expected) in calls {
                    let answer = try await store.coalesce(
                        Self.key,
                        now: call.now,
                        window: Self.window,
                        at: call.at,
                        offset: call.offset,
                        isDue: call.isDue
                    ).get()
                    #expect(answer == expected, "\(server): \(call)")
                }
                #expect(try await store.value(Self.key) == Array(value.utf8), "\(server)")
            }
        }
    }
}

extension TokenStore {
    /// Runs ``CoalesceScript/coalesce``; returns its answer.
    fileprivate func coalesce(
        _ key: [UInt8],
        now: Int64,
        window: Int64,
        at: Int64,
        offset: Int64,
        isDue: Bool
    ) async throws -> Result<Int64, RedisError> {
        try await collect(1) { clients, answer in
            let slot = RedisSlot(key: key)
            clients.redis.evaluate(CoalesceScript.coalesce, slot: slot, keyCount: 1, argumentCount: 5) { writer in
                writer.argument(key)
                for number in [now, window, at, offset, isDue ? 1 : 0] { writer.argument(Int(number)) }
            } _: { result in
                answer(0, result.map { $0.integer ?? -9 })
            }
        }[0]
    }
}
