import PushTopics
import RedisClient

// Questions about buckets that name one key each. While a slot of a Redis Cluster moves to another master, such a
// question is answered at once by the side that has the key, also if neither has it; a script with two keys, of which
// one need not exist, would be put off until the slot has moved.

/// The tokens of a bucket, with the number of its tag's buckets at the same moment.
struct BucketContents: Sendable {
    var count: Int
    var tokens: [(token: [UInt8], record: [UInt8])]
}

extension RedisPipeline {
    /// Reads the number of a tag's buckets, at least 1.
    func countBuckets(
        ofTag tag: Int,
        _ keys: TokenKeys,
        _ completion: @escaping (Result<Int, RedisError>) -> Void
    ) {
        send(slot: keys.slot(tag: tag)) { writer in
            writer.command("GET", argumentCount: 1)
            writer.argument(keys.directory(tag: tag))
        } _: { result in
            completion(
                result.flatMap { reply in
                    if reply.isNull { return .success(1) }
                    guard let count = reply.string.flatMap({ Int($0) }), count > 0 else {
                        return .failure(.server(prefix: "BELFRY", message: "a directory without a number"))
                    }
                    return .success(count)
                }
            )
        }
    }

    /// Reads a bucket, and how many buckets its tag had then. That number never falls: if it was the same before and
    /// after, it was that one. Otherwise the bucket may have been split in between, and is read again.
    func readBucket(
        _ place: BundleWalk.Place,
        _ keys: TokenKeys,
        _ completion: @escaping (Result<BucketContents, RedisError>) -> Void
    ) {
        countBuckets(ofTag: place.tag, keys) { result in
            switch result {
            case .success(let count): self.readBucket(place, keys, count: count, completion)
            case .failure(let error): completion(.failure(error))
            }
        }
    }

    private func readBucket(
        _ place: BundleWalk.Place,
        _ keys: TokenKeys,
        count: Int,
        _ completion: @escaping (Result<BucketContents, RedisError>) -> Void
    ) {
        send(slot: keys.slot(tag: place.tag)) { writer in
            writer.command("HGETALL", argumentCount: 1)
            writer.argument(keys.bucket(place.bucket, tag: place.tag))
        } _: { result in
            let tokens: [(token: [UInt8], record: [UInt8])]
            switch result {
            case .success(let reply):
                tokens = stride(from: 0, to: reply.count - 1, by: 2).map {
                    (TokenLayout.token(ofField: reply[$0].bytes), Array(reply[$0 + 1].bytes))
                }
            case .failure(let error):
                return completion(.failure(error))
            }
            self.countBuckets(ofTag: place.tag, keys) { result in
                switch result {
                case .success(count): completion(.success(BucketContents(count: count, tokens: tokens)))
                case .success(let other): self.readBucket(place, keys, count: other, completion)
                case .failure(let error): completion(.failure(error))
                }
            }
        }
    }
}
