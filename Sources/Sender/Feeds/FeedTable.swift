import PipelineCore

/// The feeds of a shard by their numbers, which ascend and are never reused.
///
/// Numbers of feeds that are over give nil; their places are freed from the front.
final class FeedTable {
    private var feeds: [AppFeed?] = []
    /// Number of `feeds[0]`.
    private var first: UInt32 = 0

    /// The number of the next feed.
    var nextNumber: UInt32 { first + UInt32(feeds.count) }

    /// Takes in a feed that has ``nextNumber``.
    func insert(_ feed: AppFeed) {
        precondition(feed.number == nextNumber)
        feeds.append(feed)
    }

    @inline(__always)
    subscript(number: UInt32) -> AppFeed? {
        guard number >= first else { return nil }
        let index = Int(number - first)
        return index < feeds.count ? feeds[index] : nil
    }

    /// Ends a feed and forgets it.
    func remove(_ feed: AppFeed) {
        feed.end()
        guard self[feed.number] === feed else { return }
        feeds[Int(feed.number - first)] = nil
        let gone = feeds.prefix { $0 == nil }.count
        guard gone > 64, gone * 2 > feeds.count else { return }
        feeds.removeFirst(gone)
        first += UInt32(gone)
    }
}
