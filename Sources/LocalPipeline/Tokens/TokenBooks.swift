/// Everything that was said of the tokens in push.registrations and push.feedback, to be compared with Redis at the
/// end. Pure.
///
/// Memory: some 20 bytes per statement.
package struct TokenBooks: Sendable {
    /// A tuple in push.feedback.
    private struct Tuple: Sendable {
        var token: DevicePlace
        var time: UInt32
        var partition: Int32
        var offset: Int64
    }

    /// The result of the comparison.
    package struct Audit: Equatable, Sendable {
        /// Acknowledged registrations that are not in the state.
        package var registrationsLost = 0
        /// Tuples that stood in push.feedback and are not in the state.
        package var feedbackLost = 0
        /// Tokens in a state that does not follow from what was said of them.
        package var strange = 0
        /// The first few of all these, in words.
        package var examples: [String] = []

        package init() {}
    }

    package let stream: RegistrationStream
    /// Handed to the producer.
    package private(set) var registrationsMade = 0
    /// Tuples that belong to no token of the stream.
    package private(set) var strangeTuples = 0
    private var acknowledged = Bitset()
    private var tuples: [Tuple] = []
    private let places: [[UInt8]: DevicePlace]

    private static let exampleLimit = 10

    package init(stream: RegistrationStream) {
        self.stream = stream
        var places: [[UInt8]: DevicePlace] = [:]
        for topic in stream.tokens.indices {
            for (device, token) in stream.tokens[topic].enumerated() {
                places[token] = DevicePlace(topic: topic, device: device)
            }
        }
        self.places = places
    }

    // MARK: Entering

    /// The next registration, to be handed to the producer.
    package mutating func nextRegistration() -> RegistrationStream.Record {
        registrationsMade += 1
        return stream.record(UInt32(registrationsMade))
    }

    /// The broker has a registration.
    package mutating func noteAcknowledged(_ number: UInt32) {
        guard number >= 1, Int(number) <= registrationsMade else { return }
        acknowledged.insert(Int(number) - 1)
    }

    /// A tuple stands in push.feedback.
    package mutating func noteFeedback(
        _ token: [UInt8],
        bundleID: String,
        time: UInt32,
        partition: Int32,
        offset: Int64
    ) {
        // Other bundles have feedback, too.
        guard let topic = stream.topics.firstIndex(of: bundleID) else { return }
        guard let place = places[token], place.topic == topic else {
            strangeTuples += 1
            return
        }
        tuples.append(Tuple(token: place, time: time, partition: partition, offset: offset))
    }

    // MARK: The balance

    package var registrations: Int { acknowledged.count }

    package var feedback: Int { tuples.count }

    /// The token with these bytes; nil: none of the stream.
    package func place(of token: [UInt8]) -> DevicePlace? { places[token] }

    /// Compares what was said with the state of the tokens.
    ///
    /// - Parameters:
    ///   - states: of all tokens of which something is known.
    ///   - due: by partition of push.feedback, the offset before which every tuple must have been applied. Those behind
    ///     it may have been.
    package func audit(_ states: [DevicePlace: TokenFate], due: [Int32: Int64]) -> Audit {
        var comparison = Comparison(states: states)
        for index in 0..<registrationsMade {
            let record = stream.record(UInt32(index + 1))
            let statement: TokenFate.Statement =
                record.isUnregistration ? .unregistered(record.time) : .registered(record.time)
            // A statement that was not acknowledged may have been applied.
            guard !comparison.enter(statement, of: record.token, isCertain: acknowledged[index]) else { continue }
            guard acknowledged[index] else { continue }
            comparison.audit.registrationsLost += 1
            comparison.note(record.token, "registration \(record.number): \(statement)", in: stream)
        }
        for tuple in tuples {
            guard !comparison.enter(.missing(tuple.time), of: tuple.token, isCertain: true) else { continue }
            guard tuple.offset < due[tuple.partition] ?? 0 else { continue }
            comparison.audit.feedbackLost += 1
            comparison.note(tuple.token, "tuple \(tuple.partition)@\(tuple.offset): \(tuple.time)", in: stream)
        }
        comparison.judgeTokens(in: stream)
        return comparison.audit
    }

    /// The comparison while it goes on.
    private struct Comparison {
        let states: [DevicePlace: TokenFate]
        var audit = Audit()
        private var statements: [DevicePlace: [TokenFate.Statement]] = [:]
        /// Tokens of which something is lost, or not certain: their state tells nothing more.
        private var doubtful: Set<DevicePlace> = []

        init(states: [DevicePlace: TokenFate]) {
            self.states = states
        }

        private func state(_ token: DevicePlace) -> TokenFate { states[token] ?? TokenFate() }

        /// Enters what was said of a token.
        ///
        /// - Returns: whether the token's state honours it.
        mutating func enter(_ statement: TokenFate.Statement, of token: DevicePlace, isCertain: Bool) -> Bool {
            statements[token, default: []].append(statement)
            let isHonoured = state(token).honours(statement)
            if !isHonoured || !isCertain { doubtful.insert(token) }
            return isHonoured
        }

        /// Counts the tokens whose state does not follow from what was said of them.
        mutating func judgeTokens(in stream: RegistrationStream) {
            let tokens = Set(statements.keys).union(states.keys).subtracting(doubtful)
            for token in tokens.sorted(by: { ($0.topic, $0.device) < ($1.topic, $1.device) }) {
                let expected = TokenFate(statements[token] ?? [])
                guard state(token) != expected else { continue }
                audit.strange += 1
                note(token, "expected \(expected)", in: stream)
            }
        }

        mutating func note(_ token: DevicePlace, _ text: @autoclosure () -> String, in stream: RegistrationStream) {
            guard audit.examples.count < TokenBooks.exampleLimit else { return }
            let name = "\(stream.topics[token.topic]), device \(token.device)"
            audit.examples.append("token state: \(name): \(text()), found \(state(token))")
        }
    }
}
