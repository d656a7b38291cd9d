import Testing

@testable import PipelineTestSupport
@testable import TokenState

/// The life of a hash tag's directory, on a real server.
@Suite struct TokenDirectoryServerTests {
    private static let token = [UInt8](1...32)
    private static let key = TokenKeys(environment: TokenStore.environment, bundleID: TokenStore.bundleID)
        .directory(tag: TokenStore.layout.place(of: token).tag)

    private func directory(in store: TokenStore) async throws -> String? {
        try await store.command(Array("GET".utf8), Self.key)
    }

    private func make(_ kind: TokenChange.Kind, in store: TokenStore) async throws {
        _ = try await store.make([.of(Self.token, kind)])[0].get()
    }

    @Test("It comes with the tag's first record, and goes with the last while the tag has one bucket")
    func life() async throws {
        try await withTokenStore { store async throws in
            try await make(.tombstone(at: 0, .feedback), in: store)
            #expect(try await directory(in: store) == nil, "nothing was written")
            try await make(.tombstone(at: 5, .invalid), in: store)
            #expect(try await directory(in: store) == "1")
            try await make(.forgetInvalid(at: 5), in: store)
            #expect(try await directory(in: store) == nil)
            #expect(try await store.records([Self.token]) == [nil])
        }
    }

    @Test("A question about a token makes nothing, and is answered with what is known")
    func question() async throws {
        try await withTokenStore { store async throws in
            let ask = [TokenChange.of(Self.token, .ask)]
            let unknown = try await store.make(ask)[0].get()
            #expect(unknown == TokenFacts(registeredAt: 0, tombstonedAt: 0, reason: .none, wasRevived: false))
            #expect(try await directory(in: store) == nil)
            try await make(.tombstone(at: 5, .invalid), in: store)
            let before = try await store.records([Self.token])
            let known = try await store.make(ask)[0].get()
            #expect(known == TokenFacts(registeredAt: 0, tombstonedAt: 5, reason: .invalid, wasRevived: false))
            #expect(try await store.records([Self.token]) == before)
        }
    }

    @Test("It comes with the next change where the first record was written without it")
    func mended() async throws {
        try await withTokenStore { store async throws in
            try await store.set(Self.token, [0, 7, 0, 0, 0])
            #expect(try await directory(in: store) == nil)
            try await make(.register(at: 8, TokenTexts()), in: store)
            #expect(try await directory(in: store) == "1")
            #expect(try await store.records([Self.token])[0]?.registeredAt == 8)
        }
    }

    @Test("It stays when the last record of a tag with several buckets goes: others may have begun to count on them")
    func split() async throws {
        try await withTokenStore { store async throws in
            _ = try await store.command(Array("SET".utf8), Self.key, Array("2".utf8))
            try await make(.tombstone(at: 5, .invalid), in: store)
            try await make(.forgetInvalid(at: 5), in: store)
            #expect(try await directory(in: store) == "2")
        }
    }
}
