import Foundation
import TestSupport

/// The text of a document, by its path from the top of the repository.
func documentText(_ path: String) throws -> String {
    try String(contentsOf: Repository.top.appending(path: path), encoding: .utf8)
}

/// The shell commands of a document.
struct ShellBlocks {
    /// The texts between "```sh" and "```", in order.
    private(set) var blocks: [String] = []
    /// The text between "```" and "```" right behind a block is what the block prints; by the block's index.
    private(set) var outputs: [Int: String] = [:]
    /// The lines that are code by their indentation.
    private(set) var indented: [String] = []

    init(_ text: String) {
        var block: [Substring] = []
        var fence: Substring?
        var isRightBehindShell = false
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("```") {
                if let opening = fence {
                    let text = block.joined(separator: "\n")
                    if opening == "```sh" { blocks.append(text) }
                    if opening == "```", isRightBehindShell { outputs[blocks.count - 1] = text }
                    isRightBehindShell = opening == "```sh"
                    fence = nil
                } else {
                    fence = line
                    block = []
                }
            } else if fence != nil {
                block.append(line)
            } else if !line.isEmpty {
                isRightBehindShell = false
                if line.hasPrefix("    ") { indented.append(String(line)) }
            }
        }
    }

    /// Programs of others that may be given the name of ours: it is a namespace, a release or a file there.
    private static let takers: Set = ["kubectl", "helm", "install"]

    /// The words behind the name of a program, of every command that begins with it, in blocks and indented lines.
    ///
    /// The name counts as a command wherever it stands, but for the arguments of `takers`.
    func commands(of program: String) throws -> [[String]] {
        let name = try Regex("(?:^|[\\s(;{|&])\(program)(?=\\s)")
        return (blocks + indented).flatMap { text in
            text.matches(of: name)
                .filter { !Self.endsInsideTaker(text[..<$0.range.upperBound]) }
                .map { Self.words(text[$0.range.upperBound...]) }
        }
    }

    /// The command in which a text ends is one of `takers`.
    private static func endsInsideTaker(_ text: Substring) -> Bool {
        let joined = text.replacing("\\\n", with: " ")
        let command = joined.split(whereSeparator: "(;{|&\n".contains).last ?? ""
        return command.split(separator: " ").first.map { takers.contains(String($0)) } ?? false
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
