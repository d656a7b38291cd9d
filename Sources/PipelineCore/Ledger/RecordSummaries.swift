/// The outcomes of records whose publishers want one summary in place of one outcome for each token.
///
/// Until the summary of a record is acknowledged, none of its tokens is done in the ledger: the next owner of a
/// partition sends all of them again, and counts all. It has to do the same with what followed, so that the newest
/// notification of a token is the last. What has its outcome in this assignment is not sent again, because
/// this memory goes along when a topic is fed anew from its cursor; so records have the names that they keep, their
/// offsets. Pure.
public struct RecordSummaries<Kind: Hashable & Sendable>: Sendable {
    @usableFromInline
    struct Summary: Sendable {
        var tokens: Int
        /// A bit for each token that has its outcome.
        var settled: [UInt64]
        var open: Int
        var counts: [Kind: UInt32] = [:]
    }

    @usableFromInline var summaries: [Int64: Summary] = [:]

    public init() {}

    /// Memory of one record's summary, bytes, about.
    public static func bytes(tokens: Int) -> Int { 256 + tokens / 8 }

    /// Asked for each token of all records, and dear if it is not known for which type.
    @inlinable public var isEmpty: Bool { summaries.isEmpty }

    /// Begins with a record, or goes on with one that is fed anew.
    ///
    /// - Parameter tokens: 1 or more.
    public mutating func begin(_ offset: Int64, tokens: Int) {
        guard summaries[offset] == nil else { return }
        let words = Array(repeating: UInt64(0), count: (tokens + 63) / 64)
        summaries[offset] = Summary(tokens: tokens, settled: words, open: tokens)
    }

    /// The token has its outcome. False for a record without a summary.
    public func isSettled(_ offset: Int64, token: UInt32) -> Bool {
        guard let summary = summaries[offset], token < summary.tokens else { return false }
        return summary.settled[Int(token / 64)] & (1 << UInt64(token % 64)) != 0
    }

    /// Gives a token its outcome; the first one stands.
    ///
    /// - Returns: the token had none before, and its record has a summary.
    public mutating func settle(_ offset: Int64, token: UInt32, _ kind: Kind) -> Bool {
        guard let index = summaries.index(forKey: offset), token < summaries.values[index].tokens,
            !isSettled(offset, token: token)
        else { return false }
        summaries.values[index].settled[Int(token / 64)] |= 1 << UInt64(token % 64)
        summaries.values[index].open -= 1
        summaries.values[index].counts[kind, default: 0] += 1
        return true
    }

    /// The tokens of a record that have their outcomes.
    public func settledCount(_ offset: Int64) -> Int {
        summaries[offset].map { $0.tokens - $0.open } ?? 0
    }

    /// The numbers of a record whose tokens all have their outcomes; nil: some have none, or there is no summary.
    public func counts(_ offset: Int64) -> [Kind: UInt32]? {
        guard let summary = summaries[offset], summary.open == 0 else { return nil }
        return summary.counts
    }

    /// The first record of which some token has its outcome; nil: there is none.
    public var firstBegun: Int64? {
        // Not `\.key`: of a tuple in generic code it is made at run time, each time.
        summaries.lazy.filter { $0.value.open < $0.value.tokens }.map { $0.key }.min()
    }

    /// Forgets the records below an offset, which are done or gone.
    public mutating func forget(below offset: Int64) {
        guard summaries.keys.contains(where: { $0 < offset }) else { return }
        summaries = summaries.filter { offset <= $0.key }
    }

    /// The summary of a record is acknowledged.
    public mutating func end(_ offset: Int64) { summaries[offset] = nil }
}
