import BelfrySupport
import Glibc

/// Tells of a command that waits for standard input.
enum InputText {
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
