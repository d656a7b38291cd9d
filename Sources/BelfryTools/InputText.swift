import BelfrySupport
import Foundation

/// Reads what a command was given in files or on standard input.
public enum InputText {
    /// The bytes of the file at `path`. Throws `ToolError.invalidInput`, which names the file.
    public static func bytes(ofFile path: String) throws(ToolError) -> [UInt8] {
        do {
            return [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
        } catch {
            throw .invalidInput(["\(path): cannot be read: \(error.localizedDescription)"])
        }
    }

    /// The text of the file at `path`, which must be UTF-8.
    public static func text(ofFile path: String) throws(ToolError) -> String {
        try text(try bytes(ofFile: path), name: path)
    }

    /// All of standard input, up to its end; a person who has to type it is told so.
    public static func textOfStandardInput(_ content: String) throws(ToolError) -> String {
        if let notice = notice(of: content, isTerminal: isatty(STDIN_FILENO) == 1) { Diagnostics.tell(notice) }
        return try text([UInt8](FileHandle.standardInput.readDataToEndOfFile()), name: "standard input")
    }

    /// Nil: nobody sits there and wonders.
    static func notice(of content: String, isTerminal: Bool) -> String? {
        isTerminal ? "reading \(content) from standard input; Ctrl-D ends it" : nil
    }

    private static func text(_ bytes: [UInt8], name: String) throws(ToolError) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw .invalidInput(["\(name): is not UTF-8"])
        }
        return text
    }
}
