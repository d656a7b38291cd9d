import PushSchemas
import PushTopics
import RedisClient

/// Reads and changes the token state in Redis: finds the bucket of each token, and keeps buckets small.
///
/// A token's place follows from the installation's ``TokenLayout``, its bucket also from the number of buckets of its
/// hash tag. The table remembers that number per tag; the server's scripts correct it after a change. Bound to the
/// event loop of its Redis client; not Sendable.
package final class TokenTable {
    /// One bundle in one environment.
    package final class Space {
        package let keys: TokenKeys
        let badgeKey: FingerprintKey
        /// Buckets of each hash tag, as last reported.
        fileprivate(set) var counts = [Int](repeating: 1, count: TokenKeys.tags)
        /// Tags with a bucket being split.
        fileprivate var splitting: Set<Int> = []
        var questions = DirectoryQuestions()

        package init(environment: String, bundleID: String) {
            keys = TokenKeys(environment: environment, bundleID: bundleID)
            badgeKey = FingerprintKey(.badge, environment: environment, bundleID: bundleID)
        }

        func bucket(_ place: TokenPlace) -> Int {
            TokenBuckets.index(hash: place.hash, count: counts[place.tag])
        }
    }

    /// Most repetitions of a call because the number of buckets had changed meanwhile.
    static let corrections = 64

    /// Most spaces that are kept for callers which do not keep them, some 3 KiB each: a role that publishes
    /// registrations may make bundle IDs up. One that is forgotten begins anew with one bucket a tag, which the server
    /// corrects.
    static let spaceLimit = 4096

    package let redis: any RedisPipeline
    /// Gives tokens their places; nil: Redis has not told it yet, so that every call fails at once as not sent.
    package var layout: TokenLayout?
    /// The spaces of bundles whose space the caller does not keep.
    private var spaces = RecentValues<String, Space>(limit: TokenTable.spaceLimit)
    /// The latest of them, so that a run of changes of one bundle makes no key of ``spaces`` for each.
    private var latest: (environment: String, bundleID: String, space: Space)?
    /// Tags to ask about at the end of ``together(_:)``; nil: outside of it.
    private var due: [(space: Space, tag: Int)]?

    package init(_ redis: any RedisPipeline, _ layout: TokenLayout?) {
        self.redis = redis
        self.layout = layout
    }

    package func space(environment: String, bundleID: String) -> Space {
        if let latest, latest.bundleID == bundleID, latest.environment == environment { return latest.space }
        let key = "\(environment):\(bundleID)"
        let space = spaces.value(of: key) { Space(environment: environment, bundleID: bundleID) }
        latest = (environment, bundleID, space)
        return space
    }

    /// Spaces kept here.
    var spaceCount: Int { spaces.count }

    /// The number of a token's hash tag; any number while the layout is not known, and nothing can be asked.
    package func tag(of token: UnsafeRawBufferPointer) -> Int { layout?.place(of: token).tag ?? 0 }

    /// The key of a token's bucket, as far as is known.
    package func key(of token: [UInt8], in space: Space) -> [UInt8] {
        guard let layout else { return [] }
        let place = layout.place(of: token)
        return space.keys.bucket(space.bucket(place), tag: place.tag)
    }

    // MARK: Look-ups

    /// Runs `body`. Its look-ups share their questions for the numbers of buckets, which leave at its end.
    package func together(_ body: () -> Void) {
        guard due == nil else { return body() }
        due = []
        body()
        let questions = due ?? []
        due = nil
        for (space, tag) in questions {
            space.questions.isDue.remove(tag)
            ask(tag, of: space)
        }
    }

    /// The moment at which a look-up was sent.
    struct Sent {
        /// Questions about its bundle's tags before it.
        var questions: Int
        /// Of the client: see ``RedisPipeline/detours``.
        var detours: Int
    }

    /// Hands over the number of a tag's buckets, read after a look-up that found nothing.
    func hearCount(
        ofTag tag: Int,
        in space: Space,
        behind sent: Sent,
        _ heard: @escaping DirectoryQuestions.Listener
    ) {
        // A look-up that took a detour (ASK, TRYAGAIN, a new master) may have run after questions that were sent behind
        // it, and even be answered before them. To ask now is right in any case.
        if redis.detours == sent.detours, let question = space.questions.open(ofTag: tag, after: sent.questions) {
            question.listeners.append(heard)
        } else {
            ask(tag, of: space, [heard])
        }
    }

    /// Asks for the number of a tag's buckets behind a look-up, for the case that this finds nothing.
    func askAlong(_ tag: Int, of space: Space) {
        guard due != nil else { return ask(tag, of: space) }
        if space.questions.isDue.insert(tag).inserted { due?.append((space, tag)) }
    }

    private func ask(_ tag: Int, of space: Space, _ listeners: [DirectoryQuestions.Listener] = []) {
        let question = space.questions.ask(ofTag: tag, listeners)
        redis.countBuckets(ofTag: tag, space.keys) { result in
            if case .success(let count) = result { space.counts[tag] = count }
            space.questions.close(question, ofTag: tag)
            // Requests whose bucket was split now look in another one.
            self.together { for heard in question.listeners { heard(result) } }
        }
    }

    static let unknownPlace = RedisError.notSent(reason: "Redis has not told where tokens lie")
    /// Nothing was changed, and a later call may succeed.
    static let restless = RedisError.notSent(reason: "the buckets never stand still")

    /// Reads a token's record; nil: the token is unknown. A record of an unknown form is an error.
    func read(
        _ token: [UInt8],
        in space: Space,
        _ completion: @escaping (Result<TokenRecord?, RedisError>) -> Void
    ) {
        let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: token.count, alignment: 1)
        bytes.copyBytes(from: token)
        let copy = UnsafeRawBufferPointer(bytes)
        look(up: copy, in: space) { result in
            completion(
                result.flatMap { value in
                    guard let value else { return .success(nil) }
                    guard let record = TokenRecord(value) else {
                        return .failure(.server(prefix: "BELFRY", message: "a token record of a later version"))
                    }
                    return .success(record)
                }
            )
            bytes.deallocate()
        }
    }

    /// Makes a change. A change of unknown fate can be repeated.
    ///
    /// - Parameter space: the space of the token's bundle, if the caller keeps it.
    package func make(
        _ change: TokenChange,
        in space: Space? = nil,
        _ completion: @escaping (Result<TokenFacts, RedisError>) -> Void
    ) {
        let space = space ?? self.space(environment: change.environment, bundleID: change.bundleID)
        let script: RedisScript
        let arguments: [ScriptArgument]
        switch change.kind {
        case .register(let at, let texts):
            script = TokenScripts.register
            arguments = [.number(Int(at)), .number(Int(texts.flags)), .bytes(texts.bytes)]
        case .describe(let at, let texts):
            script = TokenScripts.describe
            arguments = [.number(Int(at)), .number(Int(texts.flags)), .bytes(texts.bytes)]
        case .tombstone(let at, let reason):
            script = TokenScripts.tombstone
            arguments = [.number(Int(at)), .number(Int(reason.rawValue)), .number(0)]
        case .refuse(let at, let kind):
            script = TokenScripts.tombstone
            let reason = TokenRecord.Reason.invalid
            arguments = [.number(Int(at)), .number(Int(reason.rawValue)), .number(Int(kind.rawValue))]
        case .forgetInvalid(let at):
            script = TokenScripts.forgetInvalid
            arguments = [.number(Int(at))]
        case .ask:
            // No token registered before that: nothing is written.
            script = TokenScripts.tombstone
            arguments = [.number(0), .number(0), .number(0)]
        }
        guard let layout else { return completion(.failure(Self.unknownPlace)) }
        let place = layout.place(of: change.token)
        call(script, change.token, at: place, in: space, arguments: arguments) { result in
            switch result {
            case .success(let reply):
                guard let facts = TokenFacts(reply), let tokens = reply[4].integer else {
                    return completion(.failure(.server(prefix: "BELFRY", message: "an answer without facts")))
                }
                if tokens > TokenBuckets.splitAbove { self.split(place.tag, of: space) }
                completion(.success(facts))
            case .failure(let error):
                completion(.failure(error))
            }
        }
    }

    /// Removes all data about a token, its badge too; the result is true if there was any. A removal that failed can be
    /// repeated.
    func forget(_ token: [UInt8], in space: Space, _ completion: @escaping (Result<Bool, RedisError>) -> Void) {
        guard let layout else { return completion(.failure(Self.unknownPlace)) }
        let place = layout.place(of: token)
        removeBadge(of: token, tag: place.tag, in: space) { result in
            guard case .success(let hadBadge) = result else { return completion(result) }
            self.call(TokenScripts.forget, token, at: place, in: space, arguments: []) { result in
                completion(result.map { hadBadge || $0.string == "1" })
            }
        }
    }

    /// Removes the record of a token if it is still `record`; the result is true if it was.
    package func sweep(
        _ token: [UInt8],
        record: [UInt8],
        in space: Space,
        _ completion: @escaping (Result<Bool, RedisError>) -> Void
    ) {
        guard let layout else { return completion(.failure(Self.unknownPlace)) }
        let place = layout.place(of: token)
        call(TokenScripts.sweep, token, at: place, in: space, arguments: [.bytes(record)]) { result in
            completion(result.map { $0.string == "1" })
        }
    }

    // MARK: Scripts

    private enum ScriptArgument {
        case number(Int)
        case bytes([UInt8])
    }

    /// Runs a script on a token's bucket, again if the token is in another one.
    private func call(
        _ script: RedisScript,
        _ token: [UInt8],
        at place: TokenPlace,
        in space: Space,
        arguments: [ScriptArgument],
        corrections: Int = TokenTable.corrections,
        _ completion: @escaping RedisConnection.Completion
    ) {
        let count = space.counts[place.tag]
        redis.evaluate(
            script,
            slot: space.keys.slot(tag: place.tag),
            keyCount: 2,
            argumentCount: 2 + arguments.count
        ) { writer in
            space.keys.writeDirectory(tag: place.tag, to: &writer)
            space.keys.writeBucket(space.bucket(place), tag: place.tag, to: &writer)
            writer.argument(count)
            writer.argument(byteCount: TokenPlace.hashBytes + token.count) { room in
                token.withUnsafeBytes { place.writeField(of: $0, into: room) }
            }
            for argument in arguments {
                switch argument {
                case .number(let number): writer.argument(number)
                case .bytes(let bytes): writer.argument(bytes)
                }
            }
        } _: { result in
            guard case .success(let reply) = result, let present = reply.integer else { return completion(result) }
            space.counts[place.tag] = max(1, Int(present))
            guard corrections > 0 else { return completion(.failure(Self.restless)) }
            self.call(
                script,
                token,
                at: place,
                in: space,
                arguments: arguments,
                corrections: corrections - 1,
                completion
            )
        }
    }

    /// Splits the bucket whose turn it is, unless that is under way. Goes on while the next one is too large. If it
    /// fails, the next change tries again.
    private func split(_ tag: Int, of space: Space) {
        guard space.splitting.insert(tag).inserted else { return }
        let count = space.counts[tag]
        redis.evaluate(TokenScripts.split, slot: space.keys.slot(tag: tag), keyCount: 4, argumentCount: 1) { writer in
            writer.argument(space.keys.directory(tag: tag))
            writer.argument(space.keys.bucket(TokenBuckets.nextSplit(count: count), tag: tag))
            writer.argument(space.keys.bucket(count, tag: tag))
            writer.argument(space.keys.bucket(TokenBuckets.nextSplit(count: count + 1), tag: tag))
            writer.argument(count)
        } _: { result in
            space.splitting.remove(tag)
            guard case .success(let reply) = result else { return }
            if let present = reply.integer {
                // Another client was faster.
                space.counts[tag] = max(1, Int(present))
            } else if reply.count == 2, let tokens = reply[1].integer {
                space.counts[tag] = count + 1
                if tokens > TokenBuckets.splitAbove { self.split(tag, of: space) }
            }
        }
    }
}

extension TokenFacts {
    /// Reads the answer of a script that changes a token.
    fileprivate init?(_ reply: RedisReply) {
        guard (5...6).contains(reply.count),
            let registeredAt = reply[0].integer.flatMap({ UInt32(exactly: $0) }),
            let tombstonedAt = reply[1].integer.flatMap({ UInt32(exactly: $0) }),
            let reason = reply[2].integer.flatMap({ UInt8(exactly: $0) }).flatMap({ TokenRecord.Reason(rawValue: $0) }),
            let refused = reply.count == 5 ? [] : RefusedKind.all(in: reply[5].bytes)
        else { return nil }
        self.init(
            registeredAt: registeredAt,
            tombstonedAt: tombstonedAt,
            reason: reason,
            wasRevived: reply[3].integer == 1,
            refused: refused
        )
    }
}
