/// Texts of others, fit to be shown: of bounded length, without characters that act instead of being seen.
enum PlainText {
    /// Replaces what is no visible character (controls, line ends, marks that turn the direction) and cuts the end.
    static func clean(_ text: String, limitBytes: Int = ConsoleLimits.textBytes) -> String {
        var cleaned = String.UnicodeScalarView()
        var bytes = 0
        for scalar in text.unicodeScalars {
            let shown = isVisible(scalar) ? scalar : "\u{fffd}"
            bytes += String(shown).utf8.count
            guard bytes <= limitBytes else {
                cleaned.append("…")
                break
            }
            cleaned.append(shown)
        }
        return String(cleaned)
    }

    private static func isVisible(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: false
        default: true
        }
    }
}
