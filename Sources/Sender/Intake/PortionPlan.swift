/// The order in which the notifications of a record with several payloads are sent, found in one turn or in several:
/// tens of thousands of tokens may have values of their own.
struct PortionPlan {
    /// Notifications with one payload, which is encoded once.
    struct Portion: Equatable {
        /// In ascending order.
        var positions: ArraySlice<Int>
        /// The payload is of the tokens' own: ``RenderedPayloads/begin(_:into:)`` makes it.
        var isOwn: Bool
    }

    /// The number of payloads that all tokens of a language share.
    private let shared: Int
    /// By position, the number of the payload: of its language, or behind those of its token's own values.
    private var choices: [Int]
    private var numbers: [PayloadVariant: Int] = [:]
    /// Positions looked at.
    private var done: Int

    /// - Parameters:
    ///   - languages: by position, number of the language.
    ///   - shared: above every number of a language.
    ///   - hasOwn: some tokens have values of their own.
    init(languages: [Int], shared: Int, hasOwn: Bool) {
        self.shared = shared
        choices = languages
        done = hasOwn ? 0 : languages.count
    }

    var isComplete: Bool { done == choices.count }

    /// Looks at the next tokens.
    ///
    /// - Parameters:
    ///   - most: how many; at least 1.
    ///   - variant: of a position; nil: its token has no values of its own.
    /// - Returns: the number of tokens looked at.
    mutating func look(most: Int, _ variant: (_ position: Int) -> PayloadVariant?) -> Int {
        let part = done..<min(done + most, choices.count)
        for position in part {
            guard let variant = variant(position) else { continue }
            let next = shared + numbers.count
            choices[position] = Self.number(&numbers[variant, default: next])
        }
        done = part.upperBound
        return part.count
    }

    /// A value in place, so that its key is looked for once.
    private static func number(_ number: inout Int) -> Int { number }

    /// The portions in their order. A token that stands in the record several times has each of its notifications in a
    /// later round than the one before, so that its order is kept.
    ///
    /// - Parameters:
    ///   - checksums: by position, CRC-32 of the token; equal ones count as the same token.
    ///   - most: notifications of a portion.
    func portions(checksums: ArraySlice<UInt32>, most: Int) -> [Portion] {
        precondition(isComplete, "portions are known once all tokens were looked at")
        var portions: [Portion] = []
        var order = Array(choices.indices)
        let limit = shared + numbers.count
        guard limit > 1, !order.isEmpty else {
            Self.cut(order[...], isOwn: false, most, into: &portions)
            return portions
        }
        order = Self.sorted(order, by: choices, below: limit)
        let rounds = TokenRounds(checksums: checksums)
        if rounds.count > 1 { order = Self.sorted(order, by: rounds.numbers, below: rounds.count) }
        portions.reserveCapacity(limit)
        var start = 0
        for end in 1...order.count {
            if end < order.count {
                let (last, next) = (order[end - 1], order[end])
                if choices[next] == choices[last], rounds[next] == rounds[last] { continue }
            }
            Self.cut(order[start..<end], isOwn: choices[order[start]] >= shared, most, into: &portions)
            start = end
        }
        return portions
    }

    /// Portions of no more than are routed at once.
    private static func cut(_ positions: ArraySlice<Int>, isOwn: Bool, _ most: Int, into portions: inout [Portion]) {
        for start in stride(from: positions.startIndex, to: positions.endIndex, by: most) {
            let end = min(start + most, positions.endIndex)
            portions.append(Portion(positions: positions[start..<end], isOwn: isOwn))
        }
    }

    /// Sorts positions by a number of each, and leaves those with the same in their order.
    ///
    /// - Parameters:
    ///   - numbers: by position.
    ///   - limit: above every number.
    private static func sorted(_ positions: [Int], by numbers: [Int], below limit: Int) -> [Int] {
        var ends = [Int](repeating: 0, count: limit)
        for number in numbers { ends[number] += 1 }
        for number in 1..<limit { ends[number] += ends[number - 1] }
        var sorted = [Int](repeating: 0, count: positions.count)
        for position in positions.reversed() {
            ends[numbers[position]] -= 1
            sorted[ends[numbers[position]]] = position
        }
        return sorted
    }
}
