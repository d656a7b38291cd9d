/// Chooses the next buckets of a bundle to read. Every token that is there all the time is seen once.
///
/// Buckets are split meanwhile: their tokens move to a new one, which is always the last of its tag. So the buckets of
/// a tag are read in order up to the number in the directory at the end. A token of a later bucket is passed over if it
/// was seen in its former one. That needs no memory of the token: each answer carries the number of buckets when the
/// bucket was read. Memory goes by buckets, not by tokens. Pure.
struct BundleWalk {
    /// A bucket.
    struct Place: Equatable, Sendable {
        var tag: Int
        var bucket: Int
    }

    private struct Tag {
        let number: Int
        /// The number of buckets, as far as is known.
        var known = 1
        var asked = 0
        /// For each bucket, the number of buckets when it was read; 0: not read yet.
        var counts: [Int32] = []
    }

    private let layout: TokenLayout
    private var active: [Tag] = []
    private var nextTag = 0

    /// The number of finished tags.
    private(set) var finishedTags = 0

    init(_ layout: TokenLayout) {
        self.layout = layout
    }

    /// The buckets to read next, `limit` at most; none: all are read. Called when the former ones were taken, or are to
    /// be asked for again.
    mutating func next(limit: Int) -> [Place] {
        let before = active.count
        active.removeAll { $0.asked == $0.known }
        finishedTags += before - active.count
        var places: [Place] = []
        var index = 0
        while places.count < limit {
            if index == active.count {
                guard nextTag < TokenKeys.tags else { break }
                active.append(Tag(number: nextTag))
                nextTag += 1
            }
            while places.count < limit, active[index].asked < active[index].known {
                places.append(Place(tag: active[index].number, bucket: active[index].asked))
                active[index].asked += 1
                active[index].counts.append(0)
            }
            index += 1
        }
        return places
    }

    /// A bucket was read when its tag had `count` of them.
    mutating func markRead(_ place: Place, count: Int) {
        guard let index = active.firstIndex(where: { $0.number == place.tag }) else { return }
        active[index].known = max(active[index].known, count)
        active[index].counts[place.bucket] = Int32(clamping: count)
    }

    /// The token was not seen in a bucket from which it was split off.
    func isNew(_ token: [UInt8], at place: Place) -> Bool {
        guard let tag = active.first(where: { $0.number == place.tag }) else { return true }
        let hash = layout.place(of: token).hash
        var mask = 0
        while mask < place.bucket {
            let ancestor = Int(hash) & mask
            if ancestor < place.bucket, ancestor < tag.counts.count, tag.counts[ancestor] > 0,
                TokenBuckets.index(hash: hash, count: Int(tag.counts[ancestor])) == ancestor
            {
                return false
            }
            mask = mask << 1 | 1
        }
        return true
    }
}
