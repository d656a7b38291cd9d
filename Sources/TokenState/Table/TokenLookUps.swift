import PushTopics
import RedisClient

/// Takes the answers to look-ups and tells them apart by number.
package protocol TokenReader: AnyObject {
    /// Called once for each look-up; possibly before its `add` returns.
    ///
    /// - Parameters:
    ///   - result: the ``TokenRecord``'s bytes, valid during the call; nil: the token is unknown.
    ///   - number: given with the look-up.
    func read(_ result: Result<UnsafeRawBufferPointer?, RedisError>, ofToken number: Int)
}

/// Look-ups of one batch of tokens: they share one receiver of Redis' replies and a row of memory, so that a look-up
/// costs no allocation.
///
/// A look-up takes one round trip, and one command if the token is known; see ``DirectoryQuestions``. Bound to the
/// event loop of its ``TokenTable``; kept by the commands under way.
package final class TokenLookUps: RedisReceiver {
    private struct LookUp {
        let token: UnsafeRawBufferPointer
        let place: TokenPlace
        /// The reader's number.
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
    private let reader: any TokenReader
    private var lookUps: [LookUp] = []
    /// The spaces of the look-ups. Neighbours mostly share theirs, and then count one reference to it.
    private var spaces: [TokenTable.Space] = []

    init(_ table: TokenTable, for reader: any TokenReader, capacity: Int) {
        self.table = table
        self.reader = reader
        redis = table.redis
        layout = table.layout
        lookUps.reserveCapacity(capacity)
    }

    /// Reads a token's record, by questions of one key each (`RedisPipeline+Buckets.swift`).
    ///
    /// - Parameters:
    ///   - token: must stay valid until the reader has the answer.
    ///   - number: names the look-up to the reader.
    package func add(
        _ token: UnsafeRawBufferPointer,
        in space: TokenTable.Space,
        number: Int
    ) {
        guard let layout else { return reader.read(.failure(TokenTable.unknownPlace), ofToken: number) }
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
            reader.read(.success(reply.bytes), ofToken: number)
        case .success:
            hearCount(position)
        case .failure(let error):
            reader.read(.failure(error), ofToken: number)
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
                self.reader.read(.success(nil), ofToken: lookUp.number)
            case .success:
                guard lookUp.corrections > 0 else {
                    return self.reader.read(.failure(TokenTable.restless), ofToken: lookUp.number)
                }
                lookUp.corrections -= 1
                lookUp.count = space.counts[tag]
                lookUp.sent = self.moment(in: space)
                self.lookUps[position] = lookUp
                self.find(lookUp, position, in: space)
            case .failure(let error):
                self.reader.read(.failure(error), ofToken: lookUp.number)
            }
        }
    }
}

extension TokenTable {
    /// Begins look-ups of a batch of tokens. To be added within ``together(_:)``.
    ///
    /// - Parameter capacity: the number of look-ups, as far as it is known.
    package func lookUps(for reader: any TokenReader, capacity: Int) -> TokenLookUps {
        TokenLookUps(self, for: reader, capacity: capacity)
    }

    /// Reads one token's record, as ``TokenLookUps/add(_:in:number:)`` does.
    ///
    /// - Parameter completion: called once with the ``TokenRecord``'s bytes, valid during the call; nil: the token is
    ///   unknown.
    package func look(
        up token: UnsafeRawBufferPointer,
        in space: Space,
        _ completion: @escaping (Result<UnsafeRawBufferPointer?, RedisError>) -> Void
    ) {
        lookUps(for: LoneReader(completion), capacity: 1).add(token, in: space, number: 0)
    }
}

/// The reader of one look-up.
private final class LoneReader: TokenReader {
    private let completion: (Result<UnsafeRawBufferPointer?, RedisError>) -> Void

    init(_ completion: @escaping (Result<UnsafeRawBufferPointer?, RedisError>) -> Void) {
        self.completion = completion
    }

    func read(_ result: Result<UnsafeRawBufferPointer?, RedisError>, ofToken number: Int) { completion(result) }
}
