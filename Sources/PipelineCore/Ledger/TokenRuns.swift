/// Positions of tokens within one record, as ascending runs.
///
/// Text form, for a header that people and other languages read: `0-4,7` are the positions 0 to 4 and 7.
public struct TokenRuns: Equatable, Sendable {
    /// Ascending, not touching.
    public private(set) var runs: [Range<UInt32>] = []

    public init() {}

    public var isEmpty: Bool { runs.isEmpty }
    /// Number of positions.
    public var count: Int { runs.reduce(0) { $0 + $1.count } }
    public var first: UInt32? { runs.first?.lowerBound }

    /// Adds a position behind all others.
    public mutating func append(_ token: UInt32) {
        if let last = runs.last {
            precondition(token >= last.upperBound && token < .max)
            if token == last.upperBound {
                runs[runs.count - 1] = last.lowerBound..<token + 1
                return
            }
        }
        runs.append(token..<token + 1)
    }

    public func contains(_ token: UInt32) -> Bool {
        let place = runs.partitioningIndex { $0.upperBound > token }
        return place < runs.count && runs[place].contains(token)
    }

    /// Cuts them into parts whose text forms have at most so many bytes each.
    ///
    /// - Parameter most: parts at most; the last one has all that are left then, however long its text is.
    public func parts(textBytes: Int, most: Int) -> [TokenRuns] {
        var parts: [TokenRuns] = []
        var start = 0
        while start < runs.count {
            let isLast = parts.count + 1 == most
            let end = isLast ? runs.count : max(start + 1, end(of: start, textBytes: textBytes))
            var part = TokenRuns()
            part.runs = Array(runs[start..<end])
            parts.append(part)
            start = end
        }
        return parts
    }

    /// One past the last run whose text fits with those from `start` on.
    private func end(of start: Int, textBytes: Int) -> Int {
        var bytes = -1
        var end = start
        while end < runs.count {
            bytes += 1 + Self.text(of: runs[end]).utf8.count
            guard bytes <= textBytes else { break }
            end += 1
        }
        return end
    }

    // MARK: Text

    public var text: String { text(of: runs[...]) }

    /// The text form of the first runs, at most so many bytes; nil: there is room for all of them.
    public func cutText(textBytes: Int) -> String? {
        let end = end(of: 0, textBytes: textBytes)
        return end < runs.count ? text(of: runs[..<end]) : nil
    }

    private func text(of runs: ArraySlice<Range<UInt32>>) -> String {
        runs.map(Self.text).joined(separator: ",")
    }

    private static func text(of run: Range<UInt32>) -> String {
        run.count == 1 ? "\(run.lowerBound)" : "\(run.lowerBound)-\(run.upperBound - 1)"
    }

    /// Reads the text form; nil if the text is malformed.
    public init?(_ text: some StringProtocol) {
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let ends = part.split(separator: "-", omittingEmptySubsequences: false).map { UInt32($0) }
            guard (1...2).contains(ends.count), let first = ends[0], let last = ends[ends.count - 1],
                first <= last, last < .max, runs.last.map({ $0.upperBound < first }) ?? true
            else { return nil }
            runs.append(first..<last + 1)
        }
    }
}
