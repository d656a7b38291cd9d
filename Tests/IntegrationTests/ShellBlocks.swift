import Foundation

/// The shell commands of a document.
struct ShellBlocks {
    /// The texts between "```sh" and "```", in order.
    private(set) var blocks: [String] = []
    /// The lines that are code by their indentation.
    private(set) var indented: [String] = []

    init(_ text: String) {
        var block: [Substring]?
        var isOtherCode = false
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("```") {
                if let lines = block {
                    blocks.append(lines.joined(separator: "\n"))
                    block = nil
                } else if line == "```sh" {
                    block = []
                } else {
                    isOtherCode.toggle()
                }
            } else if block != nil {
                block?.append(line)
            } else if line.hasPrefix("    "), !isOtherCode {
                indented.append(String(line))
            }
        }
    }

    /// The words behind `belfry` of every command that begins so, in blocks and indented lines.
    var commands: [[String]] {
        (blocks + indented).flatMap { text in
            text.matches(of: /(?:^|[\s(;{|&])belfry(?=\s)/).map { Self.words(text[$0.range.upperBound...]) }
        }
    }

    /// The words up to the end of a simple command. Quotes are taken off, variables left as they are written.
    private static func words(_ text: Substring) -> [String] {
        var words: [String] = []
        var word: String?
        var quote: Character?
        var rest = text
        while let character = rest.popFirst() {
            if character == quote {
                quote = nil
            } else if character == "\\", quote != "'", let next = rest.popFirst() {
                // A line that goes on is one.
                if next != "\n" { word = (word ?? "") + String(next) }
            } else if quote != nil {
                word = (word ?? "") + String(character)
            } else if character == "'" || character == "\"" {
                quote = character
                word = word ?? ""
            } else if character == " " {
                if let word { words.append(word) }
                word = nil
            } else if "|&;<>)\n".contains(character) || character == "#" && word == nil {
                // The number before a redirection is the redirection's.
                if "<>".contains(character), word?.allSatisfy(\.isNumber) == true { word = nil }
                break
            } else {
                word = (word ?? "") + String(character)
            }
        }
        return words + (word.map { [$0] } ?? [])
    }
}
