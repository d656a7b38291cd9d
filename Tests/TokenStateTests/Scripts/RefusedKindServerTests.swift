import APNsProtocol
import RedisClient
import Testing

@testable import PipelineTestSupport
@testable import TokenState

/// Tombstones for some kinds of topics, on a real server and the simulated one. ``TokenScriptsServerTests`` prove that
/// the order of changes does not matter.
@Suite("Tombstones for kinds of topics")
struct RefusedKindServerTests {
    private static let token = Array("token".utf8)
    private static let voip = PushType.voip.topicKind

    @Test(
        "A token refused for one kind of topic is dead for that alone, until it registers",
        arguments: TokenStore.both
    )
    func oneKind(on server: TokenStore.Server) async throws {
        try await withTokenStore(on: server) { store async throws in
            let facts = try await make([register(5, "de"), refuse(9, Self.voip), refuse(8, Self.voip)], in: store)
            #expect(facts.map(\.isDead) == [false, false, false])
            #expect(facts.map(\.concernReaders) == [false, true, true])
            #expect(try await deaths(in: store) == [Self.voip: .invalid])
            let later = try await make([register(8, "de"), register(9, "de")], in: store)
            #expect(later.map(\.wasRevived) == [false, true])
            #expect(try await deaths(in: store).isEmpty)
        }
    }

    @Test("A tombstone for all kinds stands beside those for some, and a registration outweighs each by its own time")
    func besides() async throws {
        try await withTokenStore { store async throws in
            try await make([refuse(9, Self.voip), tombstone(7, .feedback), refuse(6, .app)], in: store)
            let reasons = try await deaths(in: store).values
            #expect(Set(reasons) == [.feedback])
            let facts = try await make([register(8)], in: store)
            #expect(facts.map(\.wasRevived) == [true] && facts[0].refused == [RefusedKind(kind: Self.voip, at: 9)])
            #expect(try await deaths(in: store) == [Self.voip: .invalid])
        }
    }

    @Test("A token without such a tombstone takes no byte more; one with it takes five")
    func bytes() async throws {
        try await withTokenStore { store async throws in
            try await make([register(5)], in: store)
            #expect(try await value(in: store)?.count == 5)
            try await make([refuse(9, .app)], in: store)
            #expect(try await value(in: store) == [0, 5, 0, 0, 0, 1, 9, 0, 0, 0])
        }
    }

    @Test(
        "Of a full record the latest kinds are kept that find room, so that it stays compact",
        arguments: TokenStore.both
    )
    func full(on server: TokenStore.Server) async throws {
        try await withTokenStore(on: server) { store async throws in
            let texts = TokenTexts(locale: String(repeating: "x", count: 35), timeZone: "GMT+12:34")
            let refusals = (1...9 as ClosedRange<UInt8>).map { refuse(10 + UInt32($0), TopicKind(rawValue: $0)) }
            let facts = try await make([.of(Self.token, .register(at: 1, texts))] + refusals, in: store)
            // Flags, time, and texts of 36 and 10 bytes take 51.
            let kept = ([9, 8] as [UInt8]).map { RefusedKind(kind: TopicKind(rawValue: $0), at: 10 + UInt32($0)) }
            #expect(facts.last?.refused == kept)
            #expect(try await value(in: store)?.count == 61)
        }
    }

    @Test("A forgotten token that a record puts back as refused is forgotten again", arguments: TokenStore.both)
    func forgottenAgain(on server: TokenStore.Server) async throws {
        try await withTokenStore(on: server) { store async throws in
            func forget(_ at: UInt32) -> TokenChange { .of(Self.token, .forgetInvalid(at: at)) }
            try await make([register(5), refuse(10, Self.voip), forget(9)], in: store)
            #expect(try await value(in: store) != nil, "refused later")
            try await make([tombstone(9, .feedback), forget(10)], in: store)
            #expect(try await value(in: store) != nil, "the service said so")
            let lives = try await make([register(9, "de"), forget(10)], in: store)
            #expect(try await value(in: store) != nil && lives.last?.registeredAt == 9, "for other kinds of topics")
            try await make([forget(20), tombstone(12, .invalid), forget(20)], in: store)
            #expect(try await value(in: store) == nil)
            try await make([refuse(10, Self.voip), forget(10)], in: store)
            #expect(try await value(in: store) == nil, "it never registered")
        }
    }

    // MARK: Helpers

    private func register(_ at: UInt32, _ locale: String = "") -> TokenChange {
        .of(Self.token, .register(at: at, TokenTexts(locale: locale)))
    }

    private func tombstone(_ at: UInt32, _ reason: TokenRecord.Reason) -> TokenChange {
        .of(Self.token, .tombstone(at: at, reason))
    }

    private func refuse(_ at: UInt32, _ kind: TopicKind) -> TokenChange { .of(Self.token, .refuse(at: at, kind)) }

    @discardableResult
    private func make(_ changes: [TokenChange], in store: TokenStore) async throws -> [TokenFacts] {
        try await store.make(changes).map { try $0.get() }
    }

    private func value(in store: TokenStore) async throws -> [UInt8]? {
        try await store.bytes(Array("HGET".utf8), store.bucket(of: Self.token), TokenStore.layout.field(of: Self.token))
    }

    /// The reasons for which a look-up of the kinds finds the token dead.
    private func deaths(in store: TokenStore) async throws -> [TopicKind: TokenRecord.Reason] {
        let value = try await value(in: store) ?? []
        var deaths: [TopicKind: TokenRecord.Reason] = [:]
        for kind in PushType.allCases.map(\.topicKind) {
            deaths[kind] = value.withUnsafeBytes { TokenRecord.reasonOfDeath($0, for: kind) }
        }
        return deaths
    }
}
