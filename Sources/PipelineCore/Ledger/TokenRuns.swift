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

    // MARK: Text

    public var text: String {
        runs.map { $0.count == 1 ? "\($0.lowerBound)" : "\($0.lowerBound)-\($0.upperBound - 1)" }
            .joined(separator: ",")
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
