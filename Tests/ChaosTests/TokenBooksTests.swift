import LocalPipeline
import Testing

@Suite("The books of registrations and feedback in a chaos run")
struct TokenBooksTests {
    private static let topics = ["com.example.post", "com.example.tide"]
    private static let stream = RegistrationStream(
        seed: 3,
        topics: topics,
        tokens: (0..<2).map { topic in (0..<10).map { [UInt8](repeating: UInt8(topic * 10 + $0), count: 32) } },
        start: 1_000_000,
        isHot: { $0.device == 0 }
    )
    /// Before it every tuple must have been applied.
    private static let due: [Int32: Int64] = [0: 100]

    private var books = TokenBooks(stream: Self.stream)
    /// Redis, when everything is right.
    private var states: [DevicePlace: TokenFate] = [:]

    /// Registrations 1… that the broker has acknowledged and a registrar has applied.
    private mutating func register(_ count: Int) {
        var statements: [DevicePlace: [TokenFate.Statement]] = [:]
        for _ in 0..<count {
            let record = books.nextRegistration()
            books.noteAcknowledged(record.number)
            statements[record.token, default: []].append(
                record.isUnregistration ? .unregistered(record.time) : .registered(record.time)
            )
        }
        states = statements.mapValues { TokenFate($0) }
    }

    private mutating func feedback(_ device: Int, at time: UInt32, offset: Int64) {
        books.noteFeedback(
            Self.stream.bytes(of: DevicePlace(topic: 0, device: device)),
            bundleID: Self.topics[0],
            time: time,
            partition: 0,
            offset: offset
        )
    }

    private func audit() -> TokenBooks.Audit { books.audit(states, due: Self.due) }

    @Test("Nothing is lost where Redis has what follows from everything that was said")
    mutating func right() {
        register(500)
        #expect(books.registrations == 500 && audit() == TokenBooks.Audit())
    }

    @Test("A registration that is not in the state is lost, also if the token is unknown there")
    mutating func lostRegistration() throws {
        register(500)
        let token = try #require(states.first { $0.value.registeredAt > 0 && $0.value.tombstonedAt == 0 }).key
        let all = (1...500).map { Self.stream.record($0) }.filter { $0.token == token }
        let newest = all.count { $0.time == states[token]?.registeredAt }
        states[token]?.registeredAt -= 1
        #expect(audit().registrationsLost == newest && audit().strange == 0 && !audit().examples.isEmpty)
        states[token] = nil
        #expect(audit().registrationsLost == all.count)
    }

    @Test("A registration that was not acknowledged is not missed, and may be there")
    mutating func unacknowledged() {
        let record = books.nextRegistration()
        #expect(audit() == TokenBooks.Audit())
        states[record.token] = TokenFate([.registered(record.time)])
        #expect(audit() == TokenBooks.Audit() && books.registrations == 0)
    }

    @Test("A tuple in push.feedback that is not in the state is lost, if it had to be applied")
    mutating func lostFeedback() {
        register(500)
        feedback(3, at: 3_000_000, offset: 99)
        #expect(audit().feedbackLost == 1 && audit().registrationsLost == 0)
        states[DevicePlace(topic: 0, device: 3)]?.tombstonedAt = 3_000_000
        states[DevicePlace(topic: 0, device: 3)]?.reason = "feedback"
        #expect(audit() == TokenBooks.Audit())
        feedback(4, at: 3_000_000, offset: 100)
        #expect(audit() == TokenBooks.Audit())
        #expect(books.feedback == 2)
    }

    @Test("Feedback that is not newer than a registration leaves no trace")
    mutating func outweighed() {
        register(500)
        let old = DevicePlace(topic: 0, device: 3)
        feedback(3, at: states[old]?.registeredAt ?? 1, offset: 5)
        #expect(audit() == TokenBooks.Audit())
    }

    @Test("A tombstone, a registration or a token that was never published is strange")
    mutating func strange() throws {
        register(500)
        let right = states
        let token = try #require(right.first { $0.value.tombstonedAt == 0 }).key
        states[token]?.tombstonedAt = 3_000_000
        #expect(audit().strange == 1 && audit().registrationsLost == 0)
        states = right
        states[token]?.registeredAt += 1
        #expect(audit().strange == 1)
        states = right
        states[token]?.locale = "xx"
        #expect(audit().strange == 1)
        let silent = TokenBooks(stream: Self.stream)
        #expect(silent.audit([token: TokenFate([.registered(1)])], due: [:]).strange == 1)
    }

    @Test("Tuples of other bundles are not looked at; of a device's token under another bundle, they are counted")
    mutating func foreign() {
        let token = Self.stream.bytes(of: DevicePlace(topic: 0, device: 1))
        books.noteFeedback(token, bundleID: "com.example.news", time: 5, partition: 0, offset: 0)
        #expect(books.feedback == 0 && books.strangeTuples == 0)
        books.noteFeedback(token, bundleID: Self.topics[1], time: 5, partition: 0, offset: 1)
        #expect(books.feedback == 0 && books.strangeTuples == 1)
    }
}
