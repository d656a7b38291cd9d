import APNsProtocol
import BelfrySupport
import PipelineCore
import PushSchemas
import RedisClient
import TestSupport
import Testing

@testable import PipelineTestSupport
@testable import SimulatedServers
@testable import TokenState

/// Badges on a real server. The key and its value are a contract.
@Suite struct BadgeServerTests {
    private static let token = [UInt8](0..<32)

    /// A call of a test.
    private enum Call {
        /// Change with a mark.
        case set(UInt32, Int)
        case add(Int32, Int)
        /// Takes the change with a mark back.
        case takeBack(Int)
    }

    @Test("The key is b:, the hash tag of the token's key, and twelve bytes that follow from the token alone")
    func key() async throws {
        try await withTokenStore { store async throws in
            _ = try await store.change(Self.token, .set(7), mark: 1)
            let tag = "b:{sandbox:com.example.news:71}:"
            let keys = try await store.bytes(Array("KEYS".utf8), Array("b:*".utf8))
            let fingerprint = try #require(keys).dropFirst(tag.utf8.count)
            #expect(keys?.starts(with: tag.utf8) == true)
            // By an implementation of SipHash-2-4 with 128 bits in Python; the documentation's example.
            let documented: [UInt8] = [0x1B, 0x45, 0x6E, 0x82, 0x1C, 0x04, 0xFD, 0x28, 0x1B, 0x8A, 0x00, 0xFB]
            #expect(Array(fingerprint) == documented)
        }
    }

    @Test("A number is set, added to, and taken away")
    func changes() async throws {
        try await expect(
            [.set(7, 1), .add(2, 2), .add(-4, 3), .add(0, 4), .set(0, 5), .add(1, 6)],
            [7, 9, 5, 5, 0, 1]
        )
    }

    @Test("A change that is repeated counts once, even behind others and if it says something else")
    func repetition() async throws {
        try await expect(
            [.add(1, 1), .add(1, 1), .set(9, 2), .add(1, 1), .add(5, 1), .set(3, 2)],
            [1, 1, 9, 9, 9, 9]
        )
    }

    @Test("A change that is taken back leaves later ones standing; to take it back again is harmless")
    func takenBack() async throws {
        try await expect(
            [.set(5, 1), .add(2, 2), .add(3, 3), .takeBack(2), .takeBack(2), .takeBack(9), .takeBack(1), .add(2, 2)],
            [5, 7, 10, 8, 8, 8, 3, 5]
        )
    }

    @Test("A number that is set over others stands when they are taken back; without it they count again")
    func takenBackBeneathSet() async throws {
        try await expect(
            [.add(2, 1), .add(3, 2), .set(9, 3), .takeBack(1), .takeBack(3)],
            [2, 5, 9, 9, 3]
        )
    }

    @Test("The number stays between 0 and 4294967295; a sum cut off is whole again when its cause is taken back")
    func ends() async throws {
        try await expect(
            [
                .set(.max, 1), .add(.max, 2), .add(.min, 3), .takeBack(1), .takeBack(2), .add(.max, 4), .add(.max, 5),
                .add(.max, 6), .add(.min, 7),
            ],
            [.max, .max, 2_147_483_647, 0, 0, 2_147_483_647, 4_294_967_294, .max, 2_147_483_647]
        )
        try await expect([.add(-1, 1), .add(1, 2), .takeBack(1)], [0, 1, 1])
    }

    @Test("The word of a former owner changes nothing; that of the same or of a later one counts")
    func owners() async throws {
        try await withTokenStore { store async throws in
            func add(_ claimedAt: Int64) async throws -> UInt32 {
                try await store.change(Self.token, .add(1), mark: 1, claimedAt: claimedAt)
            }
            func takeBack(_ claimedAt: Int64) async throws -> UInt32? {
                try await store.takeBack(Self.token, mark: 1, claimedAt: claimedAt)
                return try await store.badge(Self.token)
            }
            // Over a second's end and a clock that is ahead of signed 32 bits.
            let times: [Int64] = [4_000_000_000_999, 4_000_000_001_000, 4_000_000_001_001]
            #expect(try await add(times[1]) == 1)
            #expect(try await takeBack(times[0]) == 1, "counted by a later owner")
            #expect(try await add(times[2]) == 1)
            #expect(try await takeBack(times[1]) == 1, "claimed by a later owner, though counted once")
            #expect(try await takeBack(times[2]) == nil)
            #expect(try await add(times[1]) == 0, "taken back by a later owner")
            #expect(try await add(times[2]) == 1)
            #expect(try await takeBack(times[2]) == nil)
        }
    }

    @Test("A change that is taken back before it is made does not count, unless a later owner makes it")
    func takenBackBefore() async throws {
        try await withTokenStore { store async throws in
            _ = try await store.change(Self.token, .set(5), mark: 2)
            try await store.takeBack(Self.token, mark: 1, claimedAt: 8)
            #expect(try await store.change(Self.token, .add(1), mark: 1, claimedAt: 7) == 5)
            #expect(try await store.change(Self.token, .add(1), mark: 1, claimedAt: 9) == 6)
        }
    }

    @Test("Changes taken back make room before those that count")
    func room() async throws {
        let first = (1...15).map { Call.add(1, $0) }
        try await expect(
            first + [.takeBack(20), .takeBack(21), .add(1, 16), .takeBack(22), .add(1, 1), .takeBack(1)],
            (1...15) + [15, 15, 16, 16, 16, 15]
        )
    }

    @Test("The last sixteen changes can be repeated and taken back; an older one is part of the number for good")
    func limit() async throws {
        let first = (1...16).map { Call.add(1, $0) }
        try await expect(
            first + [.add(1, 1), .add(1, 17), .add(1, 2), .takeBack(1), .takeBack(2), .add(1, 1)],
            (1...16) + [16, 17, 17, 17, 16, 17]
        )
        // A seventeenth change pushes the first out, even one that sets the number.
        try await expect([.set(100, 0)] + first + [.takeBack(0)], [100] + (101...116) + [116])
    }

    @Test("The value is the version, a number, and each change with its mark, kind, number and claim")
    func layout() async throws {
        try await withTokenStore { store async throws in
            _ = try await store.change(Self.token, .set(0xFFFE_FDFC), mark: 1, claimedAt: 4_000_000_000_999)
            _ = try await store.change(Self.token, .add(-2), mark: 2)
            try await store.takeBack(Self.token, mark: 3, claimedAt: 1)
            func mark(_ number: Int) -> [UInt8] {
                [UInt8](unsafeUninitializedCapacity: RequestFingerprint.bytes) { room, count in
                    TokenStore.mark(number).fingerprint.write(into: UnsafeMutableRawBufferPointer(room))
                    count = RequestFingerprint.bytes
                }
            }
            let value = try #require(try await store.value(store.badgeKey(of: Self.token)))
            let changes: [[UInt8]] = [
                mark(1) + [1, 0xFC, 0xFD, 0xFE, 0xFF, 0x00, 0x28, 0x6B, 0xEE, 0xE7, 0x03],
                mark(2) + [2, 0xFE, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0, 0, 0],
                mark(3) + [0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0],
            ]
            #expect(value == [1, 0, 0, 0, 0] + changes.flatMap { $0 })
            let record = value.withUnsafeBytes { BadgeRecord($0) }
            #expect(record?.entries.map(\.change) == [.set(0xFFFE_FDFC), .add(-2), nil])
            #expect(record?.entries.map(\.claimedAt) == [4_000_000_000_999, 0, 1])
            #expect(record?.number == 0xFFFE_FDFA)
        }
    }

    @Test("A value of another form is refused by all, and not changed", arguments: [[2, 0, 0, 0, 0], [1, 0], []])
    func foreign(value: [UInt8]) async throws {
        try await withTokenStore { store async throws in
            let key = store.badgeKey(of: Self.token)
            _ = try await store.bytes(Array("SET".utf8), key, value)
            await #expect(throws: RedisError.self) { try await store.change(Self.token, .add(1), mark: 1) }
            await #expect(throws: RedisError.self) { try await store.takeBack(Self.token, mark: 1) }
            await #expect(throws: RedisError.self) { try await store.badge(Self.token) }
            #expect(try await store.value(key) == value)
        }
    }

    @Test("A number is kept for 400 days from the last change; that all was taken back, for an hour")
    func lifetime() async throws {
        try await withTokenStore { store async throws in
            let key = store.badgeKey(of: Self.token)
            let days = 400 * 86_400_000
            func expireSoon() async throws { _ = try await store.bytes(Array("EXPIRE".utf8), key, Array("9".utf8)) }
            func isRenewed(for time: Int = days) async throws -> Bool {
                (time - 60_000...time).contains(try await store.timeToLive(of: key))
            }
            try await store.takeBack(Self.token, mark: 1)
            #expect(try await isRenewed(for: 3_600_000))
            #expect(try await store.badge(Self.token) == nil)
            for number in 1...2 {
                _ = try await store.change(Self.token, .add(1), mark: number)
                #expect(try await isRenewed())
                try await expireSoon()
            }
            _ = try await store.change(Self.token, .add(1), mark: 1)
            #expect(try await isRenewed())
            try await expireSoon()
            try await store.takeBack(Self.token, mark: 1)
            #expect(try await isRenewed())
            try await store.takeBack(Self.token, mark: 2)
            #expect(try await isRenewed(for: 3_600_000))
            #expect(try await store.badge(Self.token) == nil)
            // A number of 0 with a change behind it is there: the change may be taken back.
            _ = try await store.change(Self.token, .set(0), mark: 3)
            #expect(try await store.badge(Self.token) == 0)
        }
    }

    @Test("After changes, repetitions and returns in any order the number is that of the model", arguments: 0..<4)
    func model(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        try await withTokenStore { store async throws in
            var model = BadgeModel()
            let key: [UInt8] = []
            for _ in 0..<600 {
                let (mark, claimedAt) = (random.pick(0...30), Int64(random.pick(998...1001)))
                let words = [[UInt8(mark)], Array("\(claimedAt)".utf8)]
                if random.chance(40) {
                    try await store.takeBack(Self.token, mark: mark, claimedAt: claimedAt)
                    _ = model.takeBack(key, words)
                    #expect(try await store.badge(Self.token) ?? 0 == model.number(key))
                } else {
                    let change: BadgeChange =
                        random.chance(30)
                        ? .set(.random(in: 0...UInt32.max, using: &random))
                        : .add(random.chance(50) ? 1 : .random(in: .min ... .max, using: &random))
                    _ = model.change(key, words + change.words)
                    let number = try await store.change(Self.token, change, mark: mark, claimedAt: claimedAt)
                    #expect(number == model.number(key))
                }
            }
        }
    }

    @Test("While it is not known where tokens lie, nothing is sent")
    func unknownPlace() async throws {
        try await withTokenStore { store async throws in
            let answers: [Result<UInt32?, RedisError>] = try await store.collect(3) { clients, answer in
                let table = TokenTable(clients.redis, nil)
                let space = table.space(environment: TokenStore.environment, bundleID: TokenStore.bundleID)
                Self.token.withUnsafeBytes { token in
                    table.changeBadge(of: token, in: space, .add(1), mark: TokenStore.mark(1)) {
                        answer(0, $0.map { $0 })
                    }
                    table.takeBackBadge(of: token, in: space, mark: TokenStore.mark(1)) {
                        answer(1, $0.map { nil })
                    }
                    table.badge(of: token, in: space) { answer(2, $0) }
                }
            }
            for answer in answers {
                guard case .failure(.notSent) = answer else {
                    Issue.record("\(answer)")
                    continue
                }
            }
        }
    }

    @Test("A number is told with what else is known of the token, and forgotten with it")
    func inspector() async throws {
        let server = try RedisServerProcess()
        let store = try await TokenStore(port: server.port)
        let inspector = try TokenInspector(redisURL: "redis://127.0.0.1:\(server.port)")
        defer { inspector.close() }
        let other = [UInt8](repeating: 7, count: 32)
        func report(_ token: [UInt8]) throws -> TokenReport {
            try inspector.report(
                environment: TokenStore.environment,
                bundleID: TokenStore.bundleID,
                hexToken: Hex.encode(token)
            )
        }
        func forget(_ tokens: [[UInt8]]) throws -> [Bool] {
            try inspector.forget(tokens, environment: TokenStore.environment, bundleID: TokenStore.bundleID)
        }
        for token in [Self.token, other] { _ = try await store.change(token, .add(4), mark: 1) }
        _ = try await store.make([.of(Self.token, .register(at: 5, TokenTexts()))])[0].get()
        #expect(try report(Self.token).badge == 4 && report(Self.token).registeredAt == 5)
        #expect(try report(other).badge == 4 && report(other).registeredAt == 0)
        var pages: [TokenReport] = []
        for badges in [true, false] {
            _ = try inspector.walk(
                environment: TokenStore.environment,
                bundleID: TokenStore.bundleID,
                badges: badges
            ) { page, _ in
                pages += page
                return true
            }
        }
        #expect(pages.map(\.token) == [Self.token, Self.token] && pages.map(\.badge) == [4, nil])
        #expect(try forget([Self.token, other]) == [true, true])
        #expect(throws: ToolError.self) { try report(Self.token) }
        #expect(try await store.badge(Self.token) == nil)
        #expect(try forget([Self.token, other]) == [false, false])
        try await store.close()
    }

    /// Makes the calls on an empty server, and compares the number after each.
    private func expect(_ calls: [Call], _ numbers: [UInt32]) async throws {
        try #require(calls.count == numbers.count)
        try await withTokenStore { store async throws in
            for (call, number) in zip(calls, numbers) {
                switch call {
                case .set(let value, let mark):
                    #expect(try await store.change(Self.token, .set(value), mark: mark) == number, "\(call)")
                case .add(let value, let mark):
                    #expect(try await store.change(Self.token, .add(value), mark: mark) == number, "\(call)")
                case .takeBack(let mark): try await store.takeBack(Self.token, mark: mark)
                }
                #expect(try await store.badge(Self.token) == number, "\(call)")
            }
        }
    }
}

extension BadgeChange {
    /// Kind and number, as the script is told.
    fileprivate var words: [[UInt8]] {
        switch self {
        case .set(let number): [Array("1".utf8), Array("\(number)".utf8)]
        case .add(let number): [Array("2".utf8), Array("\(number)".utf8)]
        }
    }
}

extension TokenStore {
    /// The mark of a change of the tests.
    static func mark(_ number: Int, claimedAt: Int64 = 0) -> BadgeMark {
        let fingerprint = [UInt8]().withUnsafeBytes {
            RequestFingerprint(token: $0, key: SipHash(low: UInt64(number), high: 0))
        }
        return BadgeMark(fingerprint, claimedAt: claimedAt)
    }

    func change(_ token: [UInt8], _ change: BadgeChange, mark: Int, claimedAt: Int64 = 0) async throws -> UInt32 {
        try await table { table, completion in
            let space = table.space(environment: Self.environment, bundleID: Self.bundleID)
            token.withUnsafeBytes {
                let mark = Self.mark(mark, claimedAt: claimedAt)
                table.changeBadge(of: $0, in: space, change, mark: mark, completion)
            }
        }
    }

    func takeBack(_ token: [UInt8], mark: Int, claimedAt: Int64 = 0) async throws {
        try await table { table, completion in
            let space = table.space(environment: Self.environment, bundleID: Self.bundleID)
            token.withUnsafeBytes {
                let mark = Self.mark(mark, claimedAt: claimedAt)
                table.takeBackBadge(of: $0, in: space, mark: mark, completion)
            }
        }
    }

    func badge(_ token: [UInt8]) async throws -> UInt32? {
        try await table { table, completion in
            let space = table.space(environment: Self.environment, bundleID: Self.bundleID)
            token.withUnsafeBytes { table.badge(of: $0, in: space, completion) }
        }
    }

    /// The key of a token's badge.
    func badgeKey(of token: [UInt8]) -> [UInt8] {
        let key = FingerprintKey(.badge, environment: Self.environment, bundleID: Self.bundleID)
        return [UInt8](unsafeUninitializedCapacity: key.count) { room, count in
            token.withUnsafeBytes { bytes in
                key.write(
                    RequestFingerprint(token: bytes, key: RequestFingerprint.tokenKey),
                    tag: Self.layout.place(of: token).tag,
                    into: UnsafeMutableRawBufferPointer(room)
                )
            }
            count = key.count
        }
    }
}
