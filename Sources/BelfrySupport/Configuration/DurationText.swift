/// Durations as the configuration and the command line write them: a whole number and a unit.
package enum DurationText {
    private static let units: [(suffix: String, milliseconds: Int64)] = [
        ("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000),
    ]

    /// The duration that `text` says: `500ms`, `2s`, `1m`, `6h`, `1d`. Nil: anything else, or more than fits.
    package static func parse(_ text: String) -> Duration? {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let suffix = text[digits.endIndex...]
        guard let unit = units.first(where: { $0.suffix == suffix }), let number = Int64(digits) else { return nil }
        let (milliseconds, overflows) = number.multipliedReportingOverflow(by: unit.milliseconds)
        return overflows ? nil : .milliseconds(milliseconds)
    }

    /// As `format`, and `0s` for no time at all.
    static func shown(_ duration: Duration) -> String {
        duration == .zero ? "0s" : format(duration)
    }

    /// The shortest text that `parse` reads as `duration`, which is a whole number of milliseconds.
    static func format(_ duration: Duration) -> String {
        let milliseconds = duration.components.seconds * 1000 + duration.components.attoseconds / 1_000_000_000_000_000
        let unit = units.last { milliseconds >= $0.milliseconds && milliseconds.isMultiple(of: $0.milliseconds) }
        return "\(milliseconds / (unit ?? units[0]).milliseconds)\((unit ?? units[0]).suffix)"
    }
}
