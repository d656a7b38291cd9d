import PushTopics
import RedisClient

/// Searches the buckets of one bundle for a registered token, some at a time, up to a limit.
///
/// A bundle in use answers with the first questions; one without registrations costs two small ones per hash tag, each
/// of one key (`RedisPipeline+Buckets.swift`). Buckets are split meanwhile, but tokens only move to the new last one of
/// their tag, which is searched after them. Bound to the event loop of its Redis client.
package final class RegisteredTokenSearch {
    /// Tags searched at once.
    static let width = 16
    /// Most buckets of one search: a bundle that has more has too many records to be unused.
    static let limit = 4096

    private let redis: any RedisPipeline
    private let keys: TokenKeys
    private var answered: ((Bool?) -> Void)?
    private var nextTag = 0
    /// Tags under way.
    private var underWay = 0
    /// Buckets asked.
    private var asked = 0

    /// KEYS[1]: a bucket. Answers with 1 if a token in it was registered, else 0. A dead token counts, because an app
    /// registered it; so does a record of a later layout.
    static let script = RedisScript(
        """
        for _, value in ipairs(redis.call('HVALS', KEYS[1])) do
          local flags, registered = struct.unpack('<BI4', value)
          if flags >= 64 or registered > 0 then return 1 end
        end
        return 0
        """
    )

    /// - Parameter answered: called once: true if a token is registered; nil: not known.
    package init(
        _ redis: any RedisPipeline,
        environment: String,
        bundleID: String,
        answered: @escaping (Bool?) -> Void
    ) {
        self.redis = redis
        keys = TokenKeys(environment: environment, bundleID: bundleID)
        self.answered = answered
    }

    package func start() {
        while answered != nil, underWay < Self.width, nextTag < TokenKeys.tags {
            nextTag += 1
            underWay += 1
            ask(BundleWalk.Place(tag: nextTag - 1, bucket: 0), of: 1)
        }
        if underWay == 0, nextTag == TokenKeys.tags { finish(false) }
    }

    /// - Parameter known: the number of the tag's buckets, as far as is known.
    private func ask(_ place: BundleWalk.Place, of known: Int) {
        guard asked < Self.limit else { return finish(nil) }
        asked += 1
        redis.evaluate(Self.script, slot: keys.slot(tag: place.tag), keyCount: 1, argumentCount: 0) { writer in
            writer.argument(keys.bucket(place.bucket, tag: place.tag))
        } _: { result in
            guard self.answered != nil else { return }
            guard case .success(let reply) = result, let found = reply.integer else { return self.finish(nil) }
            if found == 1 { return self.finish(true) }
            self.askNext(BundleWalk.Place(tag: place.tag, bucket: place.bucket + 1), of: known)
        }
    }

    private func askNext(_ place: BundleWalk.Place, of known: Int) {
        if place.bucket < known { return ask(place, of: known) }
        redis.countBuckets(ofTag: place.tag, keys) { result in
            guard self.answered != nil else { return }
            guard case .success(let count) = result else { return self.finish(nil) }
            if place.bucket < count { return self.ask(place, of: count) }
            self.underWay -= 1
            self.start()
        }
    }

    private func finish(_ answer: Bool?) {
        guard let answered else { return }
        self.answered = nil
        answered(answer)
    }
}
