import PipelineCore
import PushSchemas
import RedisClient

/// The numbers on the icons of apps, one for each token.
extension TokenTable {
    /// Changes a token's number, unless the change was made already. A change of unknown fate can be repeated.
    ///
    /// It takes one round trip; look-ups that are sent before or behind it share that.
    ///
    /// - Parameters:
    ///   - token: is read during the call only.
    ///   - mark: tells the change from all others of the token.
    ///   - completion: called once with the number afterwards.
    package func changeBadge(
        of token: UnsafeRawBufferPointer,
        in space: Space,
        _ change: BadgeChange,
        mark: BadgeMark,
        _ completion: @escaping (Result<UInt32, RedisError>) -> Void
    ) {
        run(BadgeScript.change, on: token, in: space, argumentCount: 4) { writer in
            writer.argument(mark)
            switch change {
            case .set(let number):
                writer.argument(1)
                writer.argument(Int(number))
            case .add(let summand):
                writer.argument(2)
                writer.argument(Int(summand))
            }
        } _: {
            completion($0)
        }
    }

    /// Takes a change of a token's number back, if it is there. Can be repeated.
    ///
    /// - Parameters:
    ///   - token: is read during the call only.
    ///   - mark: of the change.
    ///   - completion: called once.
    package func takeBackBadge(
        of token: UnsafeRawBufferPointer,
        in space: Space,
        mark: BadgeMark,
        _ completion: @escaping (Result<Void, RedisError>) -> Void
    ) {
        run(BadgeScript.takeBack, on: token, in: space, argumentCount: 2) { writer in
            writer.argument(mark)
        } _: { result in
            completion(result.map { _ in () })
        }
    }

    /// Runs one of the scripts on a token's number, which is its answer.
    private func run(
        _ script: RedisScript,
        on token: UnsafeRawBufferPointer,
        in space: Space,
        argumentCount: Int,
        _ write: (inout RedisCommandWriter) -> Void,
        _ completion: @escaping (Result<UInt32, RedisError>) -> Void
    ) {
        guard let layout else { return completion(.failure(Self.unknownPlace)) }
        let tag = layout.place(of: token).tag
        redis.evaluate(script, slot: space.keys.slot(tag: tag), keyCount: 1, argumentCount: argumentCount) { writer in
            space.writeBadgeKey(of: token, tag: tag, into: &writer)
            write(&writer)
        } _: { result in
            completion(result.flatMap(Self.number))
        }
    }

    /// Reads a token's number; nil: none is known.
    ///
    /// - Parameters:
    ///   - token: is read during the call only.
    ///   - completion: called once.
    package func badge(
        of token: UnsafeRawBufferPointer,
        in space: Space,
        _ completion: @escaping (Result<UInt32?, RedisError>) -> Void
    ) {
        guard let layout else { return completion(.failure(Self.unknownPlace)) }
        let tag = layout.place(of: token).tag
        redis.send(slot: space.keys.slot(tag: tag)) { writer in
            writer.command("GET", argumentCount: 1)
            space.writeBadgeKey(of: token, tag: tag, into: &writer)
        } _: { result in
            completion(
                result.flatMap { reply in
                    guard !reply.isNull else { return .success(nil) }
                    guard let record = BadgeRecord(reply.bytes) else {
                        return .failure(.server(prefix: "BELFRY", message: "a badge of a later version"))
                    }
                    return .success(record.isThere ? record.number : nil)
                }
            )
        }
    }

    /// Removes a token's number; the result is true if there was one.
    func removeBadge(
        of token: [UInt8],
        tag: Int,
        in space: Space,
        _ completion: @escaping (Result<Bool, RedisError>) -> Void
    ) {
        redis.send(slot: space.keys.slot(tag: tag)) { writer in
            writer.command("DEL", argumentCount: 1)
            token.withUnsafeBytes { space.writeBadgeKey(of: $0, tag: tag, into: &writer) }
        } _: { result in
            completion(result.map { $0.integer == 1 })
        }
    }

    /// Reads the answer of a script.
    private static func number(_ reply: RedisReply) -> Result<UInt32, RedisError> {
        guard let number = reply.integer.flatMap({ UInt32(exactly: $0) }) else {
            return .failure(.server(prefix: "BELFRY", message: "an answer without a badge"))
        }
        return .success(number)
    }
}

extension TokenTable.Space {
    fileprivate func writeBadgeKey(
        of token: UnsafeRawBufferPointer,
        tag: Int,
        into writer: inout RedisCommandWriter
    ) {
        let fingerprint = RequestFingerprint(token: token, key: RequestFingerprint.tokenKey)
        writer.argument(byteCount: badgeKey.count) { badgeKey.write(fingerprint, tag: tag, into: $0) }
    }
}

extension RedisCommandWriter {
    fileprivate mutating func argument(_ mark: BadgeMark) {
        argument(byteCount: RequestFingerprint.bytes) { mark.fingerprint.write(into: $0) }
        argument(Int(mark.claimedAt))
    }
}
