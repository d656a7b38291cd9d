import PushTopics
import RedisClient

/// Searches the buckets of one bundle for a registered token, some at a time, up to a limit.
///
/// A bundle in use answers with the first questions; one without registrations costs one small script per hash tag.
/// Buckets are split meanwhile, but tokens only move to the new last one of their tag, which is searched after them.
/// Bound to the event loop of its Redis client.
package final class RegisteredTokenSearch {
    /// Scripts under way at once.
    static let width = 16
    /// Buckets searched by one script.
    static let bucketsPerScript = 4
    /// Most scripts of one search: a bundle that needs more has too many records to be unused.
    static let limit = 1024

    private let redis: any RedisPipeline
    private let keys: TokenKeys
    private var answered: ((Bool?) -> Void)?
    private var nextTag = 0
    private var underWay = 0
    private var asked = 0

    /// A dead token counts: an app registered it. So does a record of a later layout.
    private static let script = RedisScript(
        """
        local count = tonumber(redis.call('GET', KEYS[1]) or 1)
        for i = 2, #KEYS do
          for _, value in ipairs(redis.call('HVALS', KEYS[i])) do
            local flags, registered = struct.unpack('<BI4', value)
            if flags >= 64 or registered > 0 then return -1 end
          end
        end
        return count
        """
    )

    /// - Parameter answered: called once: true if a token is registered; nil: not known.
    package init(_ redis: any RedisPipeline, environment: String, bundleID: String, answered: @escaping (Bool?) -> Void)
    {
        self.redis = redis
        keys = TokenKeys(environment: environment, bundleID: bundleID)
        self.answered = answered
    }

    package func start() {
        while answered != nil, underWay < Self.width, nextTag < TokenKeys.tags {
            nextTag += 1
            ask(tag: nextTag - 1, from: 0)
        }
        if underWay == 0, nextTag == TokenKeys.tags { finish(false) }
    }

    private func ask(tag: Int, from bucket: Int) {
        guard asked < Self.limit else { return finish(nil) }
        asked += 1
        underWay += 1
        redis.evaluate(
            Self.script,
            slot: keys.slot(tag: tag),
            keyCount: 1 + Self.bucketsPerScript,
            argumentCount: 0
        ) { writer in
            writer.argument(keys.directory(tag: tag))
            for number in bucket..<bucket + Self.bucketsPerScript {
                writer.argument(keys.bucket(number, tag: tag))
            }
        } _: { result in
            self.take(result, tag: tag, next: bucket + Self.bucketsPerScript)
        }
    }

    private func take(_ result: Result<RedisReply, RedisError>, tag: Int, next: Int) {
        underWay -= 1
        guard answered != nil else { return }
        guard case .success(let reply) = result, let count = reply.integer, count == -1 || count > 0 else {
            return finish(nil)
        }
        if count == -1 { return finish(true) }
        if next < count { ask(tag: tag, from: next) }
        start()
    }

    private func finish(_ answer: Bool?) {
        guard let answered else { return }
        self.answered = nil
        answered(answer)
    }
}
