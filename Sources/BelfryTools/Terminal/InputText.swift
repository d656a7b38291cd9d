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

    /// All of standard input, up to its end. A person who has to type it is told so at once, and one who feeds it
    /// through a pipe if it takes long.
    public static func textOfStandardInput(_ content: String) throws(ToolError) -> String {
        let name = "standard input"
        if let notice = notice(of: content, isTerminal: isatty(STDIN_FILENO) == 1) {
            Diagnostics.tell(notice)
            return try text(bytesOfStandardInput(), name: name)
        }
        return try text(WaitNotice.during("\(content) from \(name)", bytesOfStandardInput), name: name)
    }

    private static func bytesOfStandardInput() -> [UInt8] {
        [UInt8](FileHandle.standardInput.readDataToEndOfFile())
    }

    /// Nil: nobody has to type.
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
