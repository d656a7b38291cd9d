/// The form of a file of tokens.
public enum TokenFormat: String, Sendable, CaseIterable {
    /// A hexadecimal token a line, or comma-separated values with one.
    case lines
    /// Tokens of 32 bytes end to end.
    case packed
}

/// The place in a file of tokens up to which it was read.
struct TokenFilePlace: Codable, Equatable, Sendable {
    /// Bytes, at the beginning of a line or token.
    var offset: Int64 = 0
    /// Lines before it; 0 for packed tokens.
    var lines = 0
    /// Tokens before it.
    var tokens = 0
    /// The column that holds the tokens; nil: no line that says anything was met.
    var column: Int?
}

/// Lines of a file that are no tokens: the first are told one by one, the others counted.
struct TokenFileFaults: Equatable, Sendable {
    /// Lines that are told one by one.
    static let mostTold = 10

    private(set) var count = 0
    private var told: [String] = []

    var isEmpty: Bool { count == 0 }

    mutating func add(_ message: @autoclosure () -> String) {
        count += 1
        if count <= Self.mostTold { told.append(message()) }
    }

    /// For people.
    var lines: [String] {
        count > told.count ? told + ["… and \(count - told.count) more"] : told
    }
}
