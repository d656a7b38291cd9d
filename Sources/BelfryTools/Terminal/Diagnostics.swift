import BelfrySupport

/// Sentences for the user of a command, on standard error.
package enum Diagnostics {
    /// Writes a line of its own: on a terminal a progress line may stand there already.
    package static func tell(_ text: String) {
        let cleared = StandardStream.error.isTerminal ? Array("\r\u{1B}[K".utf8) : []
        StandardStream.error.write(cleared + Array("belfry: \(TerminalText.lines(text))\n".utf8))
    }
}
