import PushTopics
import RedisClient

/// Look-ups of one batch of tokens: they share one receiver of Redis' replies and a row of memory, so that a look-up
/// costs no allocation.
///
/// A look-up takes one round trip, and one command if the token is known; see ``DirectoryQuestions``. Bound to the
/// event loop of its ``TokenTable``; kept by the commands under way.
package final class TokenLookUps: RedisReceiver {
    /// The ``TokenRecord``'s bytes, valid during the call; nil: the token is unknown.
    package typealias Answer = Result<UnsafeRawBufferPointer?, RedisError>

    private struct LookUp {
        let token: UnsafeRawBufferPointer
        let place: TokenPlace
        /// Given with the look-up.
        let number: Int
        /// The position of its space in `spaces`.
        let space: Int
        /// Buckets of the tag, as of the last command.
        var count: Int
        /// The moment at which the last command was sent.
        var sent: TokenTable.Sent
        /// Most repetitions to come.
        var corrections = TokenTable.corrections
    }

    private let table: TokenTable
    private let redis: any RedisPipeline
    private let layout: TokenLayout?
    private let onAnswer: (Answer, _ number: Int) -> Void
    private var lookUps: [LookUp] = []
    /// The spaces of the look-ups. Neighbours mostly share theirs, and then count one reference to it.
    private var spaces: [TokenTable.Space] = []

    init(_ table: TokenTable, capacity: Int, _ onAnswer: @escaping (Answer, _ number: Int) -> Void) {
        self.table = table
        self.onAnswer = onAnswer
        redis = table.redis
        layout = table.layout
        lookUps.reserveCapacity(capacity)
    }

    /// Reads a token's record, by questions of one key each (`RedisPipeline+Buckets.swift`).
    ///
    /// - Parameters:
    ///   - token: must stay valid until the answer is there, which may be before the call returns.
    ///   - number: names the look-up in the answer.
    package func add(
        _ token: UnsafeRawBufferPointer,
        in space: TokenTable.Space,
        number: Int
    ) {
        guard let layout else { return onAnswer(.failure(TokenTable.unknownPlace), number) }
        let place = layout.place(of: token)
        if spaces.last !== space { spaces.append(space) }
        let lookUp = LookUp(
            token: token,
            place: place,
            number: number,
            space: spaces.count - 1,
            count: space.counts[place.tag],
            sent: moment(in: space)
        )
        lookUps.append(lookUp)
        find(lookUp, lookUps.count - 1, in: space)
    }

    private func moment(in space: TokenTable.Space) -> TokenTable.Sent {
        TokenTable.Sent(questions: space.questions.count, detours: redis.detours)
    }

    private func find(_ lookUp: LookUp, _ position: Int, in space: TokenTable.Space) {
        let (token, place) = (lookUp.token, lookUp.place)
        let bucket = TokenBuckets.index(hash: place.hash, count: lookUp.count)
        redis.send(
            slot: space.keys.slot(tag: place.tag),
            { writer in
                writer.command("HGET", argumentCount: 2)
                space.keys.writeBucket(bucket, tag: place.tag, to: &writer)
                writer.argument(byteCount: TokenPlace.hashBytes + token.count) {
                    place.writeField(of: token, into: $0)
                }
            },
            to: self,
            number: position
        )
        if space.questions.expectsUnknown[place.tag] { table.askAlong(place.tag, of: space) }
    }

    package func received(_ result: Result<RedisReply, RedisError>, for position: Int) {
        let number = lookUps[position].number
        switch result {
        case .success(let reply) where !reply.isNull:
            let (space, tag) = (spaces[lookUps[position].space], lookUps[position].place.tag)
            // Mostly it is so already, and to read costs less than to write.
            if space.questions.expectsUnknown[tag] { space.questions.expectsUnknown[tag] = false }
            onAnswer(.success(reply.bytes), number)
        case .success:
            hearCount(position)
        case .failure(let error):
            onAnswer(.failure(error), number)
        }
    }

    /// The token is unknown, or its bucket was split.
    private func hearCount(_ position: Int) {
        var lookUp = lookUps[position]
        let (space, tag) = (spaces[lookUp.space], lookUp.place.tag)
        table.hearCount(ofTag: tag, in: space, behind: lookUp.sent) { result in
            switch result {
            case .success(lookUp.count):
                space.questions.expectsUnknown[tag] = true
                self.onAnswer(.success(nil), lookUp.number)
            case .success:
                guard lookUp.corrections > 0 else {
                    return self.onAnswer(.failure(TokenTable.restless), lookUp.number)
                }
                lookUp.corrections -= 1
                lookUp.count = space.counts[tag]
                lookUp.sent = self.moment(in: space)
                self.lookUps[position] = lookUp
                self.find(lookUp, position, in: space)
            case .failure(let error):
                self.onAnswer(.failure(error), lookUp.number)
            }
        }
    }
}

extension TokenTable {
    /// Begins look-ups of a batch of tokens. To be added within ``together(_:)``.
    ///
    /// - Parameters:
    ///   - capacity: the number of look-ups, as far as it is known.
    ///   - onAnswer: called once for each look-up.
    package func lookUps(
        capacity: Int,
        _ onAnswer: @escaping (TokenLookUps.Answer, _ number: Int) -> Void
    ) -> TokenLookUps {
        TokenLookUps(self, capacity: capacity, onAnswer)
    }

    /// Reads one token's record, as ``TokenLookUps/add(_:in:number:)`` does.
    ///
    /// - Parameter completion: called once.
    package func look(
        up token: UnsafeRawBufferPointer,
        in space: Space,
        _ completion: @escaping (TokenLookUps.Answer) -> Void
    ) {
        lookUps(capacity: 1) { answer, _ in completion(answer) }.add(token, in: space, number: 0)
    }
}
