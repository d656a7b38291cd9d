/// Text of others for a line on a terminal.
enum TerminalText {
    /// One column of a line: no character of it moves the cursor, and it does not look like two columns.
    static func column(_ text: String) -> String {
        var shown = ""
        for scalar in text.unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator: shown.unicodeScalars.append("·")
            default: shown.unicodeScalars.append(shown.unicodeScalars.last == " " && scalar == " " ? "·" : scalar)
            }
        }
        return shown.isEmpty ? "-" : shown
    }
}
