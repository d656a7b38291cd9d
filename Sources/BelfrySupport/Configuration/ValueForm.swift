/// The values that a key may have: for error messages, the document and editors.
package enum ValueForm: Sendable, Equatable {
    case integer(ClosedRange<Int>)
    case number(ClosedRange<Double>)
    case boolean
    case choice([String])
    /// At least one of the names: a list in the file, or a text with commas.
    case choices([String])
    case duration(ClosedRange<Duration>)
    /// A duration, or `0s`: for ever.
    case age(ClosedRange<Duration>)
    /// Nil: the port is required.
    case address(defaultPort: Int?)
    /// At least one address: a list in the file, or a text with commas.
    case addresses(defaultPort: Int)
    /// The path of a file or of a directory. It starts from the directory of the configuration file.
    case path
    /// A text with a rule in words and as a regular expression. Nil: any text that is not empty.
    case text(rule: String?, pattern: String)
    /// Names of the user's choice, each with a single value.
    case properties

    /// In an error message.
    package var allowed: String {
        switch self {
        case .integer: "a whole number, \(summary)"
        case .number: "a number, \(summary)"
        case .boolean: "true or false"
        case .choice(let names): names.joined(separator: ", ")
        case .choices(let names): "a list of some of \(names.joined(separator: ", "))"
        case .duration: "a duration such as 500ms, 2s, 1m or 6h, \(summary)"
        case .age(let range): "0s (keep), or a duration of \(Self.text(of: range))"
        case .address(nil): "host:port"
        case .address(let port?): "host or host:port (port \(port) if none is given)"
        case .addresses(let port): "a list of addresses, each \(Self.address(defaultPort: port).allowed)"
        case .text(let rule?, _): rule
        case .path, .text: "a text that is not empty"
        case .properties: "a mapping of keys to values"
        }
    }

    /// In a cell of the document, in Markdown.
    package var summary: String {
        switch self {
        case .integer(let range): "\(range.lowerBound)...\(range.upperBound)"
        case .number(let range): "\(range.lowerBound)...\(range.upperBound)"
        case .boolean: "`true`, `false`"
        case .choice(let names): names.map { "`\($0)`" }.joined(separator: ", ")
        case .choices(let names): "list of " + names.map { "`\($0)`" }.joined(separator: ", ")
        case .duration(let range): Self.text(of: range)
        case .age(let range): "`0s`, \(Self.text(of: range))"
        case .address(nil): "`host:port`"
        case .address: "`host[:port]`"
        case .addresses: "list of `host[:port]`"
        case .path: "path"
        case .text(let rule, _): rule ?? "text"
        case .properties: "properties"
        }
    }

    private static func text(of range: ClosedRange<Duration>) -> String {
        "\(DurationText.format(range.lowerBound))...\(DurationText.format(range.upperBound))"
    }
}
