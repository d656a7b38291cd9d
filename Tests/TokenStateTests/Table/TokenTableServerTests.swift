import RedisClient
import TestSupport
import Testing

@testable import PipelineTestSupport
@testable import TokenState

/// Buckets that grow, on a real server.
@Suite struct TokenTableServerTests {
    private static let keys = TokenKeys(environment: TokenStore.environment, bundleID: TokenStore.bundleID)
    private static let tag = 7

    /// Tokens of one hash tag.
    private static func tokens(_ count: Int, seed: UInt64) -> [[UInt8]] {
        var generator = SeededGenerator(seed: seed)
        var tokens: [[UInt8]] = []
        while tokens.count < count {
            let token = (0..<32).map { _ in UInt8.random(in: 0...255, using: &generator) }
            if TokenStore.layout.place(of: token).tag == tag { tokens.append(token) }
        }
        return tokens
    }

    private func register(_ tokens: [[UInt8]], in store: TokenStore) async throws {
        let changes = tokens.enumerated().map { TokenChange.of($1, .register(at: UInt32($0 + 1), TokenTexts())) }
        for answer in try await store.make(changes) { _ = try answer.get() }
    }

    private func registrations(_ records: [TokenRecord?]) -> [UInt32] { records.map { $0?.registeredAt ?? 0 } }

    @Test("Buckets are split as a bundle grows, and every token is found, by clients that saw none of it too")
    func growth() async throws {
        let server = try RedisServerProcess()
        let writer = try await TokenStore(port: server.port)
        let reader = try await TokenStore(port: server.port)
        let tokens = Self.tokens(3000, seed: 1)
        let expected = (1...3000).map(UInt32.init)
        // Both have looked at the tag while it had one bucket.
        #expect(try await reader.lookUps([tokens[0]]) == [nil])
        // As from processes that start at different times: what one knows of the buckets is old for the other.
        for chunk in stride(from: 0, to: 3000, by: 500) {
            let part = tokens[chunk..<chunk + 500].enumerated().map {
                TokenChange.of($1, .register(at: UInt32(chunk + $0 + 1), TokenTexts()))
            }
            let store = chunk % 1000 == 0 ? writer : reader
            for answer in try await store.make(part) { _ = try answer.get() }
        }
        let directory = Self.keys.directory(tag: Self.tag)
        let count = try #require(try await writer.command(Array("GET".utf8), directory))
        let buckets = try #require(Int(count))
        #expect((3000 / TokenBuckets.splitAbove...3000 / 32).contains(buckets))
        for bucket in 0..<buckets {
            let key = Self.keys.bucket(bucket, tag: Self.tag)
            #expect(try await writer.command(Array("OBJECT".utf8), Array("ENCODING".utf8), key) == "listpack")
        }
        #expect(registrations(try await writer.lookUps(tokens)) == expected)
        #expect(registrations(try await reader.lookUps(tokens)) == expected)
        let newcomer = try await TokenStore(port: server.port)
        #expect(registrations(try await newcomer.lookUps(tokens)) == expected)
        #expect(registrations(try await newcomer.records(tokens)) == expected)
        #expect(try await newcomer.lookUps(Self.tokens(50, seed: 2)).allSatisfy { $0 == nil })
        for store in [writer, reader, newcomer] { try await store.close() }
    }

    @Test("Of two clients that split at once one does, and no token is lost or doubled")
    func racing() async throws {
        let server = try RedisServerProcess()
        let one = try await TokenStore(port: server.port)
        let other = try await TokenStore(port: server.port)
        let tokens = Self.tokens(1200, seed: 3)
        async let first: Void = register(tokens, in: one)
        async let second: Void = register(tokens, in: other)
        _ = try await (first, second)
        #expect(try await total(in: one) == 1200)
        let found = try await one.records(tokens)
        #expect(registrations(found) == (1...1200).map(UInt32.init))
        try await one.close()
        try await other.close()
    }

    @Test("The server is asked for the number of buckets once with a batch of unknown tokens, with known ones never")
    func commands() async throws {
        let server = try RedisServerProcess()
        let store = try await TokenStore(port: server.port)
        let tokens = Self.tokens(100, seed: 7)
        func calls(of name: String) throws -> Int {
            let line = try server.command("INFO", "commandstats").split(whereSeparator: \.isNewline)
                .first { $0.hasPrefix("cmdstat_\(name):calls=") }
            return line.flatMap { Int($0.split(separator: "=")[1].prefix(while: \.isNumber)) } ?? 0
        }
        for (batch, questions) in [1, 1, 0].enumerated() {
            _ = try server.command("CONFIG", "RESETSTAT")
            let found = registrations(try await store.lookUps(tokens))
            #expect(found == (batch == 0 ? Array(repeating: 0, count: 100) : (1...100).map(UInt32.init)))
            let (lookUps, others) = (try calls(of: "hget"), try calls(of: "get"))
            #expect(lookUps == 100 && others == questions)
            if batch == 0 { try await register(tokens, in: store) }
        }
        try await store.close()
    }

    /// Tokens in all buckets, counted while none is split: the last splits may still be under way.
    private func total(in store: TokenStore) async throws -> Int {
        func buckets() async throws -> Int {
            Int(try await store.command(Array("GET".utf8), Self.keys.directory(tag: Self.tag)) ?? "") ?? 1
        }
        while true {
            let count = try await buckets()
            var total = 0
            for bucket in 0..<count {
                let key = Self.keys.bucket(bucket, tag: Self.tag)
                let tokens = try await store.command(Array("HLEN".utf8), key)
                total += Int(tokens ?? "") ?? 0
            }
            if try await buckets() == count { return total }
        }
    }

    @Test(
        "Tokens that Redis takes for numbers, and those of the greatest length, are found",
        arguments: TokenStore.both
    )
    func oddTokens(on server: TokenStore.Server) async throws {
        try await withTokenStore(on: server) { store async throws in
            let tokens = [
                Array("12345678901234567890123456789012".utf8), Array("-0000000000000000000000000000001".utf8),
                [UInt8](repeating: 0, count: 32), [UInt8](repeating: 0xFF, count: 100), [UInt8](0..<64),
            ]
            try await register(tokens, in: store)
            #expect(registrations(try await store.lookUps(tokens)) == [1, 2, 3, 4, 5])
        }
    }

    @Test(
        "A record of a later version is an error to the client that asks for it, not nothing",
        arguments: TokenStore.both
    )
    func laterVersion(on server: TokenStore.Server) async throws {
        try await withTokenStore(on: server) { store async throws in
            let token = Self.tokens(1, seed: 6)[0]
            try await store.set(token, [64] + [UInt8](repeating: 0, count: 8))
            await #expect(throws: RedisError.self) { _ = try await store.records([token]) }
        }
    }

    @Test("A forgotten token is gone, a swept one only if it has not changed", arguments: TokenStore.both)
    func removal(on server: TokenStore.Server) async throws {
        try await withTokenStore(on: server) { store async throws in
            let tokens = Self.tokens(2, seed: 4)
            try await register(tokens, in: store)
            func sweep(_ record: [UInt8]) async throws -> Bool {
                try await store.table { table, completion in
                    let space = table.space(environment: TokenStore.environment, bundleID: TokenStore.bundleID)
                    table.sweep(tokens[1], record: record, in: space, completion)
                }
            }
            func forget() async throws -> Bool {
                try await store.table { table, completion in
                    let space = table.space(environment: TokenStore.environment, bundleID: TokenStore.bundleID)
                    table.forget(tokens[0], in: space, completion)
                }
            }
            #expect(try await forget())
            #expect(try await !forget())
            let record = try #require(try await store.records(tokens)[1])
            #expect(try await !sweep(TokenRecord().bytes))
            #expect(registrations(try await store.records(tokens)) == [0, 2])
            #expect(try await sweep(record.bytes))
            #expect(try await store.records(tokens) == [nil, nil])
        }
    }
}
