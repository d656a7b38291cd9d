/// The names in a query of PromQL. Knows as much of the language as dashboards use.
struct QueryNames: Equatable {
    /// Of series: those of a histogram have its suffixes.
    var metrics: Set<String> = []
    var labels: Set<String> = []

    private enum Token: Equatable {
        case word(Substring)
        case text(Substring)
        case sign(Character)

        var isText: Bool {
            if case .text = self { true } else { false }
        }
    }

    /// Operators between words that are no call.
    private static let keywords: Set<Substring> = ["and", "or", "unless", "bool", "offset"]
    /// Behind these stands a list of labels.
    private static let groupings: Set<Substring> = ["by", "without", "on", "ignoring", "group_left", "group_right"]

    init(metrics: Set<String> = [], labels: Set<String> = []) {
        self.metrics = metrics
        self.labels = labels
    }

    init(of query: String) {
        let tokens = Self.tokens(of: query)
        var isInBraces = false
        var isInList = false
        for (index, token) in tokens.enumerated() {
            let next = index + 1 < tokens.count ? tokens[index + 1] : nil
            switch token {
            case .sign("{"): isInBraces = true
            case .sign("}"): isInBraces = false
            case .sign("("):
                if index > 0, case .word(let word) = tokens[index - 1] { isInList = Self.groupings.contains(word) }
            case .sign(")"): isInList = false
            case .word("__name__"):
                // Behind the name stand the operator and the text.
                guard case .text(let names)? = tokens[(index + 1)...].first(where: \.isText) else { continue }
                metrics.formUnion(names.split(separator: "|").map(String.init))
            case .word(let word) where isInBraces || isInList: labels.insert(String(word))
            case .word(let word): if Self.isMetric(word, before: next) { metrics.insert(String(word)) }
            case .sign, .text: break
            }
        }
    }

    /// Neither a function, nor an aggregation before its grouping, nor an operator.
    private static func isMetric(_ word: Substring, before next: Token?) -> Bool {
        switch next {
        case .sign("("): false
        case .word("by"), .word("without"): false
        default: !keywords.contains(word) && !groupings.contains(word)
        }
    }

    /// Numbers and durations are left out.
    private static func tokens(of query: String) -> [Token] {
        var tokens: [Token] = []
        var rest = query[...]
        while let first = rest.first {
            if first == "\"" {
                let text = rest.dropFirst().prefix { $0 != "\"" }
                tokens.append(.text(text))
                rest = rest[text.endIndex...].dropFirst()
            } else if first.isLetter || first == "_" || first.isNumber {
                let word = rest.prefix { $0.isLetter || $0.isNumber || "_:.".contains($0) }
                if !first.isNumber { tokens.append(.word(word)) }
                rest = rest[word.endIndex...]
            } else {
                if !first.isWhitespace { tokens.append(.sign(first)) }
                rest = rest.dropFirst()
            }
        }
        return tokens
    }
}
