import BelfrySupport
import Glibc

/// Reads what a command was given in files or on standard input.
public enum InputText {
    /// The bytes of the file at `path`. Throws `ToolError.invalidInput`, which names the file.
    public static func bytes(ofFile path: String) throws(ToolError) -> [UInt8] {
        let file = try FileDescriptor(reading: path)
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 65_536)
        while case let count = try file.read(into: &piece), count > 0 { bytes += piece[..<count] }
        return bytes
    }

    /// Begins a wait for the first bytes of standard input, of which a person who has to type is told at once.
    static func beginReadingStandardInput(_ content: String) -> WaitNotice? {
        guard let notice = notice(of: content, isTerminal: isatty(STDIN_FILENO) == 1) else {
            return WaitNotice("\(content) from standard input")
        }
        Diagnostics.tell(notice)
        return nil
    }

    /// Nil: nothing has to be typed.
    static func notice(of content: String, isTerminal: Bool) -> String? {
        isTerminal ? "reading \(content) from standard input; Ctrl-D ends it" : nil
    }
}
