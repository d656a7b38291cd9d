/// Text of others for a terminal.
package enum TerminalText {
    /// Lines of which no character moves the cursor, or does more on a terminal, but for their ends and tabs.
    package static func lines(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isObeyed) else { return text }
        var shown = ""
        for scalar in text.unicodeScalars { shown.unicodeScalars.append(isObeyed(scalar) ? "·" : scalar) }
        return shown
    }

    /// JSON with escapes for what it may hold and a terminal obeys. Such characters stand in its strings alone.
    package static func json(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isObeyed) else { return text }
        var shown = ""
        for scalar in text.unicodeScalars {
            guard isObeyed(scalar) else {
                shown.unicodeScalars.append(scalar)
                continue
            }
            let digits = String(scalar.value, radix: 16)
            shown += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }
        return shown
    }

    private static func isObeyed(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.generalCategory == .control && scalar != "\n" && scalar != "\t"
    }

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
