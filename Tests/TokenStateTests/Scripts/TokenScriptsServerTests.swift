import PipelineCore
import PushSchemas
import RedisClient
import TestSupport
import Testing

@testable import PipelineTestSupport
@testable import TokenState

/// The scripts on a real server, and their rules on the simulated one.
@Suite struct TokenScriptsServerTests {
    private typealias State = TokenFields
    private typealias Message = TokenMessage

    private static let token = [UInt8](1...32)

    @Test("A registration only moves forward; a late one changes nothing", arguments: TokenStore.both)
    func registrationMovesForward(on server: TokenStore.Server) async throws {
        try await withTokenStore(on: server) { store async throws in
            try await apply([register(20, "de", "Europe/Berlin"), register(10, "en", "Europe/London")], in: store)
            #expect(try await state(in: store) == State(registeredAt: 20, locale: "de", timeZone: "Europe/Berlin"))
            try await apply([register(30, "fr", "Europe/Paris")], in: store)
            #expect(try await state(in: store) == State(registeredAt: 30, locale: "fr", timeZone: "Europe/Paris"))
        }
    }

    @Test("A registration clears an older tombstone and its reason", arguments: TokenStore.both)
    func olderTombstoneIsCleared(on server: TokenStore.Server) async throws {
        try await withTokenStore(on: server) { store async throws in
            #expect(try await deaths([tombstone(10, .invalid), register(11)], in: store) == [true, false])
            #expect(try await state(in: store) == State(registeredAt: 11))
        }
    }

    @Test("A registration that is older than the tombstone leaves the token dead", arguments: TokenStore.both)
    func newerTombstoneIsKept(on server: TokenStore.Server) async throws {
        try await withTokenStore(on: server) { store async throws in
            #expect(try await deaths([tombstone(10, .invalid), register(9)], in: store) == [true, true])
            #expect(try await state(in: store) == State(reason: .invalid, registeredAt: 9, tombstonedAt: 10))
        }
    }

    @Test("In the same second the token lives, whichever comes first", arguments: TokenStore.both)
    func sameSecond(on server: TokenStore.Server) async throws {
        try await withTokenStore(on: server) { store async throws in
            #expect(try await deaths([tombstone(10), register(10)], in: store) == [true, false])
            #expect(try await state(in: store) == State(registeredAt: 10))
            #expect(try await deaths([tombstone(10)], in: store) == [false])
            #expect(try await state(in: store) == State(registeredAt: 10))
        }
    }

    @Test(
        "A tombstone younger than the registration kills the token and keeps what is known of it",
        arguments: TokenStore.both
    )
    func tombstoneAfterRegistration(on server: TokenStore.Server) async throws {
        try await withTokenStore(on: server) { store async throws in
            #expect(
                try await deaths([register(10, "de", "UTC"), tombstone(11, .feedback)], in: store) == [false, true]
            )
            #expect(
                try await state(in: store)
                    == State(reason: .feedback, registeredAt: 10, tombstonedAt: 11, locale: "de", timeZone: "UTC")
            )
        }
    }

    @Test("A token that was never registered can be tombstoned; at second 0 nothing can", arguments: TokenStore.both)
    func unknownToken(on server: TokenStore.Server) async throws {
        try await withTokenStore(on: server) { store async throws in
            #expect(try await deaths([tombstone(0)], in: store) == [false])
            #expect(try await store.records([Self.token]) == [nil])
            #expect(try await deaths([tombstone(1)], in: store) == [true])
            #expect(try await state(in: store)?.isDead == true)
        }
    }

    @Test(
        "The youngest tombstone and its reason count; in one second the reason with the lowest code",
        arguments: TokenStore.both
    )
    func reasons(on server: TokenStore.Server) async throws {
        try await withTokenStore(on: server) { store async throws in
            try await apply(
                [tombstone(10, .invalid), tombstone(12, .unregistered), tombstone(11, .feedback)],
                in: store
            )
            #expect(try await state(in: store) == State(reason: .unregistered, tombstonedAt: 12))
            try await apply([tombstone(12, .feedback), tombstone(12, .invalid)], in: store)
            #expect(try await state(in: store) == State(reason: .feedback, tombstonedAt: 12))
        }
    }

    @Test(
        "The value is flags, registered at, tombstoned at with its reason, and the two texts, the zone as its number",
        arguments: TokenStore.both
    )
    func layout(on server: TokenStore.Server) async throws {
        try await withTokenStore(on: server) { store async throws in
            try await apply(
                [register(0x0102_0304, "de", "Europe/Berlin"), tombstone(0xFFFE_FDFC, .unregistered)],
                in: store
            )
            let zone = try #require(TimeZoneCodes.code(of: "Europe/Berlin"))
            let texts = [2] + Array("de".utf8) + [UInt8(zone & 255), UInt8(zone >> 8)]
            let fixed: [UInt8] = [1 | 4 | 8, 0x04, 0x03, 0x02, 0x01, 0xFC, 0xFD, 0xFE, 0xFF, 3]
            #expect(try await value(in: store) == fixed + texts)
        }
    }

    @Test("Texts are cut, and may be empty or hold any byte", arguments: TokenStore.both)
    func texts(on server: TokenStore.Server) async throws {
        try await withTokenStore(on: server) { store async throws in
            let long = String(repeating: "x", count: 300)
            try await apply([register(1, long, "a\0b")], in: store)
            #expect(
                try await state(in: store)
                    == State(registeredAt: 1, locale: String(repeating: "x", count: 35), timeZone: "a\0b")
            )
        }
    }

    @Test(
        "What an app tells of its device moves forward with registrations, and is no registration",
        arguments: TokenStore.both
    )
    func description(on server: TokenStore.Server) async throws {
        try await withTokenStore(on: server) { store async throws in
            try await apply([register(20, "de", "Europe/Berlin"), describe(15, "en"), describe(30, "fr")], in: store)
            #expect(try await state(in: store) == State(registeredAt: 20, describedAt: 30, locale: "fr"))
            // A registration older than what was told changes the time of registration only.
            try await apply([register(25, "pt", "UTC")], in: store)
            #expect(try await state(in: store) == State(registeredAt: 25, describedAt: 30, locale: "fr"))
            try await apply([tombstone(26)], in: store)
            #expect(try await state(in: store)?.isDead == true)
            try await apply([register(40, "it")], in: store)
            #expect(try await state(in: store) == State(registeredAt: 40, locale: "it"))
        }
    }

    @Test(
        "A registration, or description, counts as a whole: the language or time zone that it leaves out is unknown",
        arguments: TokenStore.both
    )
    func whole(on server: TokenStore.Server) async throws {
        try await withTokenStore(on: server) { store async throws in
            try await apply([register(10, "de", "Europe/Berlin"), register(20, "fr")], in: store)
            #expect(try await state(in: store) == State(registeredAt: 20, locale: "fr"))
            try await apply([register(30)], in: store)
            #expect(try await state(in: store) == State(registeredAt: 30))
            try await apply([register(40, "de", "Europe/Berlin"), describe(50, "it")], in: store)
            #expect(try await state(in: store) == State(registeredAt: 40, describedAt: 50, locale: "it"))
        }
    }

    @Test(
        "A record with flags that are not known is refused by every change, and not changed",
        arguments: [64, 128, 255],
        TokenStore.both
    )
    func unknownFlags(flags: Int, on server: TokenStore.Server) async throws {
        try await withTokenStore(on: server) { store async throws in
            let value = [UInt8(flags)] + [UInt8](repeating: 0, count: 30)
            try await setValue(value, in: store)
            for answer in try await store.make([register(10), tombstone(10), describe(10, "de")]) {
                #expect {
                    try answer.get()
                } throws: { error in
                    guard case RedisError.server("BELFRY", let message) = error else { return false }
                    return message.contains("flags \(flags)")
                }
            }
            #expect(try await self.value(in: store) == value)
        }
    }

    /// In its times, in a text, and in a kind of topic for which the token was refused.
    private static let shortValues: [[UInt8]] = [[1, 0, 0], [4, 5, 0, 0, 0, 9, 97], [0, 5, 0, 0, 0, 1, 9]]

    @Test("A record cut short is refused by every change, and not changed", arguments: shortValues, TokenStore.both)
    func shortValue(value: [UInt8], on server: TokenStore.Server) async throws {
        try await withTokenStore(on: server) { store async throws in
            try await setValue(value, in: store)
            for answer in try await store.make([register(10), tombstone(10), describe(10, "de")]) {
                #expect(throws: RedisError.self) { try answer.get() }
            }
            #expect(try await self.value(in: store) == value)
        }
    }

    @Test("The answer tells what is known afterwards, and whether a tombstone went", arguments: TokenStore.both)
    func facts(on server: TokenStore.Server) async throws {
        try await withTokenStore(on: server) { store async throws in
            let facts = try await apply([register(5), tombstone(9, .invalid), register(7), register(9)], in: store)
            #expect(facts.map(\.registeredAt) == [5, 5, 7, 9])
            #expect(facts.map(\.tombstonedAt) == [0, 9, 9, 0])
            #expect(facts.map(\.reason) == [.none, .invalid, .invalid, .none])
            #expect(facts.map(\.wasRevived) == [false, false, false, true])
            #expect(facts.map(\.isDead) == [false, true, true, false])
        }
    }

    @Test("A badge is kept by every change", arguments: TokenStore.both)
    func badges(on server: TokenStore.Server) async throws {
        try await withTokenStore(on: server) { store async throws in
            try await setBadge(.max, in: store)
            try await apply([register(5, "de")], in: store)
            #expect(try await state(in: store) == State(registeredAt: 5, locale: "de", badge: .max))
            try await apply([tombstone(6), register(7, "de")], in: store)
            #expect(try await state(in: store) == State(registeredAt: 7, locale: "de", badge: .max))
        }
    }

    @Test(
        "Every order and repetition of messages ends in one state, and it is what the tombstone rule says",
        arguments: TokenStore.both
    )
    func orderDoesNotMatter(on server: TokenStore.Server) async throws {
        try await withTokenStore(on: server) { store async throws in
            for seed in UInt64(0)..<60 {
                var generator = SeededGenerator(seed: seed)
                let messages = (0..<Int.random(in: 1...4, using: &generator)).map { _ in
                    Message.random(using: &generator)
                }
                let orders = permutations(messages).map { $0.withRepetitions(using: &generator) }
                let tokens = orders.indices.map { Array("\(seed)-\($0)".utf8) }
                let changes = zip(orders, tokens).flatMap { order, token in order.map { $0.change(token) } }
                for answer in try await store.make(changes) { #expect(throws: Never.self) { try answer.get() } }
                let states = try await store.records(tokens).map { $0.map { State($0) } }
                #expect(states.allSatisfy { $0 == Message.expected(messages) }, "\(seed): \(messages)")
            }
        }
    }

    @Test(
        "A forgotten token is forgotten again if a gateway called it invalid before, and it has not registered since",
        arguments: TokenStore.both
    )
    func forgottenAgain(on server: TokenStore.Server) async throws {
        try await withTokenStore(on: server) { store async throws in
            let forget = { TokenChange.of(Self.token, .forgetInvalid(at: $0)) }
            try await apply([register(5, "de"), tombstone(10, .invalid), forget(9)], in: store)
            #expect(try await state(in: store)?.tombstonedAt == 10, "called invalid later")
            #expect(try await deaths([forget(10)], in: store) == [false])
            #expect(try await state(in: store) == nil)
            try await apply([forget(10), tombstone(10, .feedback), forget(11)], in: store)
            #expect(try await state(in: store) == State(reason: .feedback, tombstonedAt: 10), "the service said so")
            try await apply([tombstone(12, .invalid), register(12, "fr"), forget(13)], in: store)
            #expect(try await state(in: store) == State(registeredAt: 12, locale: "fr"), "it lives")
        }
    }

    // MARK: Helpers

    private func register(_ at: UInt32, _ locale: String = "", _ timeZone: String = "") -> TokenChange {
        .of(Self.token, .register(at: at, TokenTexts(locale: locale, timeZone: timeZone)))
    }

    private func describe(_ at: UInt32, _ locale: String) -> TokenChange {
        .of(Self.token, .describe(at: at, TokenTexts(locale: locale)))
    }

    private func tombstone(_ at: UInt32, _ reason: TokenRecord.Reason = .feedback) -> TokenChange {
        .of(Self.token, .tombstone(at: at, reason))
    }

    @Test("The fullest record is one that a server with stock settings keeps in the compact form")
    func fullest() async throws {
        try await withTokenStore { store async throws in
            let texts = TokenTexts(locale: String(repeating: "x", count: 35), timeZone: "GMT+12:34")
            try await setBadge(4, in: store)
            try await apply([register(1), .of(Self.token, .describe(at: 2, texts)), tombstone(3)], in: store)
            #expect(try await value(in: store)?.count == 64)
            let bucket = store.bucket(of: Self.token)
            #expect(try await store.command(Array("OBJECT".utf8), Array("ENCODING".utf8), bucket) == "listpack")
        }
    }

    /// Gives the token a record that has a badge and nothing else.
    private func setBadge(_ badge: UInt32, in store: TokenStore) async throws {
        var record = TokenRecord()
        record.badge = badge
        try await setValue(record.bytes, in: store)
    }

    @discardableResult
    private func apply(_ changes: [TokenChange], in store: TokenStore) async throws -> [TokenFacts] {
        try await store.make(changes).map { try $0.get() }
    }

    /// Makes the changes; tells of each that the token is dead after it.
    private func deaths(_ changes: [TokenChange], in store: TokenStore) async throws -> [Bool] {
        try await apply(changes, in: store).map(\.isDead)
    }

    private func state(in store: TokenStore) async throws -> State? {
        try await store.records([Self.token])[0].map { State($0) }
    }

    private func value(in store: TokenStore) async throws -> [UInt8]? {
        try await store.bytes(
            Array("HGET".utf8),
            store.bucket(of: Self.token),
            TokenStore.layout.field(of: Self.token)
        )
    }

    private func setValue(_ value: [UInt8], in store: TokenStore) async throws {
        try await store.set(Self.token, value)
    }
}
