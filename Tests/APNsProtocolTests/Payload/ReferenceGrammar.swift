import TestSupport

/// The grammar of RFC 8259, one function for each of its rules, and the rules about `aps`. By recursion over
/// characters.
struct ReferenceGrammar {
    private struct Mismatch: Error {}

    private var rest: Substring.UnicodeScalarView

    static func accepts(_ text: String) -> Bool {
        var grammar = ReferenceGrammar(rest: text[...].unicodeScalars)
        do {
            grammar.space()
            let keys = try grammar.object()
            grammar.space()
            return grammar.rest.isEmpty && keys.filter { $0.key == "aps" }.map(\.isObject) == [true]
        } catch {
            return false
        }
    }

    private mutating func space() {
        while let next = rest.first, " \t\r\n".unicodeScalars.contains(next) { rest.removeFirst() }
    }

    private mutating func take(_ allowed: String) -> Unicode.Scalar? {
        guard let next = rest.first, allowed.unicodeScalars.contains(next) else { return nil }
        return rest.removeFirst()
    }

    private mutating func expect(_ text: String) throws {
        for scalar in text.unicodeScalars {
            guard take(String(scalar)) != nil else { throw Mismatch() }
        }
    }

    private mutating func object() throws -> [(key: String, isObject: Bool)] {
        var keys: [(key: String, isObject: Bool)] = []
        try expect("{")
        space()
        if take("}") != nil { return keys }
        repeat {
            space()
            let key = try string()
            space()
            try expect(":")
            space()
            keys.append((key, rest.first == "{"))
            try value()
            space()
        } while take(",") != nil
        try expect("}")
        return keys
    }

    private mutating func array() throws {
        try expect("[")
        space()
        if take("]") != nil { return }
        repeat {
            space()
            try value()
            space()
        } while take(",") != nil
        try expect("]")
    }

    private mutating func value() throws {
        switch rest.first {
        case "{": _ = try object()
        case "[": try array()
        case "\"": _ = try string()
        case "t": try expect("true")
        case "f": try expect("false")
        case "n": try expect("null")
        default: try number()
        }
    }

    private mutating func number() throws {
        _ = take("-")
        if take("0") == nil { try digits() }
        if take(".") != nil { try digits() }
        if take("eE") != nil {
            _ = take("+-")
            try digits()
        }
    }

    private mutating func digits() throws {
        guard take("0123456789") != nil else { throw Mismatch() }
        while take("0123456789") != nil {}
    }

    /// Escapes stay as they are: the documents spell no key with them.
    private mutating func string() throws -> String {
        try expect("\"")
        var text = String.UnicodeScalarView()
        while let next = rest.popFirst() {
            if next == "\"" { return String(text) }
            guard next.value >= 0x20 else { throw Mismatch() }
            text.append(next)
            if next == "\\" {
                guard let escaped = take("\"\\/bfnrt") else { throw Mismatch() }
                text.append(escaped)
            }
        }
        throw Mismatch()
    }
}

/// Random documents as lists of tokens.
enum RandomJSON {
    private static let scalars = [
        "0", "-1", "2.5", "1e5", "-0.1E-2", "10", "true", "false", "null", "\"\"", "\"text\"", "\"a\\n\\\"b\"",
        "\"\u{E9}\u{1F514}\"", "\"a longer text, of more than one word\"",
    ]

    private static let soup = [
        "{", "}", "[", "]", ",", ":", "\"aps\"", "\"", "\\", "01", "1.", "-", "+1", "nul", "tru", "x", "\u{1}",
        "\u{A0}",
    ]

    static func value(depth: Int, using generator: inout SeededGenerator) -> [String] {
        switch depth == 0 ? 9 : Int.random(in: 0..<10, using: &generator) {
        case 0, 1:
            return ["{"] + members(depth: depth - 1, using: &generator) + ["}"]
        case 2, 3:
            let elements = (0..<Int.random(in: 0...3, using: &generator)).map { _ in
                value(depth: depth - 1, using: &generator)
            }
            return ["["] + elements.joined(separator: [","]) + ["]"]
        default:
            return [scalars.randomElement(using: &generator) ?? "0"]
        }
    }

    static func members(depth: Int, using generator: inout SeededGenerator) -> [String] {
        let members = (0..<Int.random(in: 0...3, using: &generator)).map { index in
            ["\"k\(index)\"", ":"] + value(depth: depth, using: &generator)
        }
        return [String](members.joined(separator: [","]))
    }

    /// Removes, doubles, swaps or replaces one token.
    static func damage(_ tokens: inout [String], using generator: inout SeededGenerator) {
        let index = Int.random(in: tokens.indices, using: &generator)
        switch Int.random(in: 0..<4, using: &generator) {
        case 0: tokens.remove(at: index)
        case 1: tokens.insert(tokens[index], at: index)
        case 2: tokens.swapAt(index, Int.random(in: tokens.indices, using: &generator))
        default: tokens[index] = soup.randomElement(using: &generator) ?? "}"
        }
    }
}
