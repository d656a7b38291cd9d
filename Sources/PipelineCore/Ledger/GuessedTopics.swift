/// Records whose topic is not known, in the feeds of topics that they may be of.
///
/// Such a record is done with the feed that has it. Until then it holds the cursors of the other topics, too: the next
/// owner may find that it is of one of them. It stays with that feed when another one is read from before it. Pure.
public struct GuessedTopics: Sendable {
    private struct Guess: Hashable {
        var holder: AppHash
        var other: AppHash
    }

    /// The lowest and the highest of the records that may be open.
    private var offsets: [Guess: ClosedRange<Int64>] = [:]
    /// The lowest and the highest of the records that a feed has got.
    private var given: [AppHash: ClosedRange<Int64>] = [:]

    public init() {}

    /// A topic's feed got a record that may be of another topic.
    public mutating func note(_ offset: Int64, in holder: AppHash, maybeOf other: AppHash) {
        let guess = Guess(holder: holder, other: other)
        offsets[guess] = Self.union(offsets[guess], offset)
        given[holder] = Self.union(given[holder], offset)
    }

    private static func union(_ known: ClosedRange<Int64>?, _ offset: Int64) -> ClosedRange<Int64> {
        guard let known else { return offset...offset }
        return min(known.lowerBound, offset)...max(known.upperBound, offset)
    }

    /// The topic's feed has got the record, or a record before and a record after it. Then the feed has passed it, too,
    /// and it went to this feed or to another of which the same is true.
    public func mayHaveGiven(_ offset: Int64, to topic: AppHash) -> Bool { given[topic]?.contains(offset) ?? false }

    /// Forgets the records that are done.
    ///
    /// - Parameter cursor: of a topic that has records; nil: it has none that are not done.
    public mutating func advance(_ cursor: (AppHash) -> Int64?) {
        for (guess, range) in offsets {
            guard let cursor = cursor(guess.holder), cursor <= range.upperBound else {
                offsets[guess] = nil
                continue
            }
            offsets[guess] = max(range.lowerBound, cursor)...range.upperBound
        }
    }

    /// The lowest offset of a record that may be of the topic, and that another one has; nil: there is none.
    public func cursor(of topic: AppHash) -> Int64? {
        offsets.lazy.filter { $0.key.other == topic }.map(\.value.lowerBound).min()
    }
}
