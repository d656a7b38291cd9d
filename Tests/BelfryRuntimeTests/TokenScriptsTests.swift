import PipelineCore
import RedisClient
import TestSupport
import Testing

@testable import BelfryRuntime

/// The scripts on a real server.
@Suite struct TokenScriptsTests {
    private static let key = Array("t:{sandbox:com.example.news:00}:token".utf8)

    @Test("A registration only moves forward; a late one changes nothing")
    func registrationMovesForward() async throws {
        try await withStore { store async throws in
            try await apply([register(20, "de", "Europe/Berlin"), register(10, "en", "Europe/London")], in: store)
            #expect(try await state(in: store) == State(registeredAt: 20, locale: "de", timeZone: "Europe/Berlin"))
            try await apply([register(30, "fr", "Europe/Paris")], in: store)
            #expect(try await state(in: store) == State(registeredAt: 30, locale: "fr", timeZone: "Europe/Paris"))
        }
    }

    @Test("A registration clears an older tombstone and its reason")
    func olderTombstoneIsCleared() async throws {
        try await withStore { store async throws in
            #expect(try await apply([tombstone(10, .invalid), register(11)], in: store) == [1, 1])
            #expect(try await state(in: store) == State(registeredAt: 11))
        }
    }

    @Test("A registration that is older than the tombstone leaves the token dead")
    func newerTombstoneIsKept() async throws {
        try await withStore { store async throws in
            #expect(try await apply([tombstone(10, .invalid), register(9)], in: store) == [1, 0])
            #expect(try await state(in: store) == State(reason: .invalid, registeredAt: 9, tombstonedAt: 10))
        }
    }

    @Test("In the same second the token lives, whichever comes first")
    func sameSecond() async throws {
        try await withStore { store async throws in
            #expect(try await apply([tombstone(10), register(10)], in: store) == [1, 1])
            #expect(try await state(in: store) == State(registeredAt: 10))
            #expect(try await apply([tombstone(10)], in: store) == [0])
            #expect(try await state(in: store) == State(registeredAt: 10))
        }
    }

    @Test("A tombstone younger than the registration kills the token and keeps what is known of it")
    func tombstoneAfterRegistration() async throws {
        try await withStore { store async throws in
            #expect(try await apply([register(10, "de", "UTC"), tombstone(11, .feedback)], in: store) == [1, 1])
            #expect(
                try await state(in: store)
                    == State(reason: .feedback, registeredAt: 10, tombstonedAt: 11, locale: "de", timeZone: "UTC")
            )
        }
    }

    @Test("A token nobody registered can be tombstoned; at second 0 nothing can")
    func unknownToken() async throws {
        try await withStore { store async throws in
            #expect(try await apply([tombstone(0)], in: store) == [0])
            #expect(try await store.values([Self.key]) == [nil])
            #expect(try await apply([tombstone(1)], in: store) == [1])
            #expect(try await state(in: store)?.isDead == true)
        }
    }

    @Test("The youngest tombstone and its reason count; in one second the reason with the lowest code")
    func reasons() async throws {
        try await withStore { store async throws in
            try await apply(
                [tombstone(10, .invalid), tombstone(12, .unregistered), tombstone(11, .feedback)],
                in: store
            )
            #expect(try await state(in: store) == State(reason: .unregistered, tombstonedAt: 12))
            try await apply([tombstone(12, .feedback), tombstone(12, .invalid)], in: store)
            #expect(try await state(in: store) == State(reason: .feedback, tombstonedAt: 12))
        }
    }

    @Test("The value is version, reason, both times little-endian, and the two texts with their lengths")
    func layout() async throws {
        try await withStore { store async throws in
            try await apply(
                [register(0x0102_0304, "de", "Europe/Berlin"), tombstone(0xFFFE_FDFC, .unregistered)],
                in: store
            )
            let texts = [2] + Array("de".utf8) + [13] + Array("Europe/Berlin".utf8)
            let fixed: [UInt8] = [1, 3, 0x04, 0x03, 0x02, 0x01, 0xFC, 0xFD, 0xFE, 0xFF]
            #expect(try await store.values([Self.key]) == [fixed + texts])
        }
    }

    @Test("Texts are cut to 64 bytes, and may be empty or hold any byte")
    func texts() async throws {
        try await withStore { store async throws in
            let long = String(repeating: "x", count: 300)
            try await apply([register(1, long, "a\0b")], in: store)
            #expect(
                try await state(in: store)
                    == State(registeredAt: 1, locale: String(repeating: "x", count: 64), timeZone: "a\0b")
            )
        }
    }

    @Test("A value of another version is refused by both scripts, and not changed", arguments: [UInt8(0), 2, 255])
    func unknownVersion(version: UInt8) async throws {
        try await withStore { store async throws in
            let value = [version] + [UInt8](repeating: 0, count: 30)
            try await store.set(Self.key, value)
            for answer in try await store.run([register(10), tombstone(10)]) {
                #expect {
                    try answer.get()
                } throws: { error in
                    guard case RedisError.server("BELFRY", let message) = error else { return false }
                    return message.contains("version \(version)")
                }
            }
            #expect(try await store.values([Self.key]) == [value])
        }
    }

    @Test("A value too short for version 1 is refused by both scripts, and not changed")
    func shortValue() async throws {
        try await withStore { store async throws in
            try await store.set(Self.key, [1, 0, 0])
            for answer in try await store.run([register(10), tombstone(10)]) {
                #expect(throws: RedisError.self) { try answer.get() }
            }
            #expect(try await store.values([Self.key]) == [[1, 0, 0]])
        }
    }

    @Test("Every order and repetition of messages ends in one state, and it is what the tombstone rule says")
    func orderDoesNotMatter() async throws {
        try await withStore { store async throws in
            for seed in UInt64(0)..<60 {
                var generator = SeededGenerator(seed: seed)
                let messages = (0..<Int.random(in: 1...4, using: &generator)).map { _ in
                    Message.random(using: &generator)
                }
                let orders = permutations(messages).map { $0.withRepetitions(using: &generator) }
                let keys = orders.indices.map { Array("t:{s:a.b:00}:\(seed)-\($0)".utf8) }
                let changes = zip(orders, keys).flatMap { order, key in order.map { $0.change(key) } }
                for answer in try await store.run(changes) { #expect(throws: Never.self) { try answer.get() } }
                let values = try await store.values(keys)
                #expect(Set(values).count == 1, "\(seed): \(messages)")
                let value = try #require(values.first ?? nil)
                #expect(State(value) == Message.expected(messages), "\(seed): \(messages)")
            }
        }
    }

    // MARK: Helpers

    private func register(_ at: UInt32, _ locale: String = "", _ timeZone: String = "") -> TokenChange {
        .register(key: Self.key, at: at, locale: locale, timeZone: timeZone)
    }

    private func tombstone(_ at: UInt32, _ reason: TokenRecord.Reason = .feedback) -> TokenChange {
        .tombstone(key: Self.key, at: at, reason: reason)
    }

    @discardableResult
    private func apply(_ changes: [TokenChange], in store: TokenStore) async throws -> [Int64] {
        try await store.run(changes).map { try $0.get() }
    }

    private func state(in store: TokenStore) async throws -> State? {
        try await store.values([Self.key])[0].flatMap { State($0) }
    }

    private func withStore(_ body: (TokenStore) async throws -> Void) async throws {
        let server = try RedisServerProcess()
        let store = try await TokenStore(port: server.port)
        do {
            try await body(store)
        } catch {
            try await store.close()
            throw error
        }
        try await store.close()
        withExtendedLifetime(server) {}
    }
}

/// What a value says.
private struct State: Equatable {
    var reason = TokenRecord.Reason.none
    var registeredAt: UInt32 = 0
    var tombstonedAt: UInt32 = 0
    var locale = ""
    var timeZone = ""

    var isDead: Bool { tombstonedAt > registeredAt }
}

extension State {
    init?(_ value: [UInt8]) {
        guard let record = value.withUnsafeBytes({ TokenRecord($0) }) else { return nil }
        self.init(
            reason: record.reason,
            registeredAt: record.registeredAt,
            tombstonedAt: record.tombstonedAt,
            locale: record.locale,
            timeZone: record.timeZone
        )
    }
}

/// What may be said of a token; few times, so that they meet.
private enum Message: Equatable {
    case register(at: UInt32, locale: String)
    case tombstone(at: UInt32, TokenRecord.Reason)

    static func random(using generator: inout SeededGenerator) -> Message {
        let at = UInt32.random(in: 1...4, using: &generator)
        if Bool.random(using: &generator) {
            return .register(at: at, locale: ["", "de", "en", "zh-Hant"].randomElement(using: &generator) ?? "")
        }
        return .tombstone(at: at, [.feedback, .invalid, .unregistered].randomElement(using: &generator) ?? .none)
    }

    func change(_ key: [UInt8]) -> TokenChange {
        switch self {
        case .register(let at, let locale): .register(key: key, at: at, locale: locale, timeZone: "")
        case .tombstone(let at, let reason): .tombstone(key: key, at: at, reason: reason)
        }
    }

    /// The state in one look over all messages, whatever their order.
    static func expected(_ messages: [Message]) -> State {
        var expected = State()
        for case .register(let at, _) in messages { expected.registeredAt = max(expected.registeredAt, at) }
        // Of registrations in one second the one with the greater texts, each after its length.
        for case .register(expected.registeredAt, let locale) in messages
        where (locale.utf8.count, locale) > (expected.locale.utf8.count, expected.locale) {
            expected.locale = locale
        }
        let registeredAt = expected.registeredAt > 0 ? expected.registeredAt : nil
        for case .tombstone(let at, let reason) in messages
        where TombstoneRule.isDead(registeredAt: registeredAt, missingAt: at) {
            if at > expected.tombstonedAt || (at == expected.tombstonedAt && reason.rawValue < expected.reason.rawValue)
            {
                expected.tombstonedAt = at
                expected.reason = reason
            }
        }
        return expected
    }
}

extension [Message] {
    /// The same messages in the same order of first appearance, some of them once more later on.
    fileprivate func withRepetitions(using generator: inout SeededGenerator) -> [Message] {
        var repeated = self
        for message in self where Bool.random(using: &generator) {
            let first = repeated.firstIndex(of: message) ?? 0
            repeated.insert(message, at: Int.random(in: (first + 1)...repeated.count, using: &generator))
        }
        return repeated
    }
}

private func permutations(_ messages: [Message]) -> [[Message]] {
    guard messages.count > 1 else { return [messages] }
    return messages.indices.flatMap { index in
        var rest = messages
        let first = rest.remove(at: index)
        return permutations(rest).map { [first] + $0 }
    }
}
