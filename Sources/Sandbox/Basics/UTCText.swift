import FoundationEssentials

/// Times as RFC 3339 texts, the form of every time that a command prints.
enum UTCText {
    /// For instance `2013-04-23T09:30:00.250Z`.
    ///
    /// - Parameter unixMilliseconds: 0 or more.
    static func text(unixMilliseconds: Int64) -> String {
        let (seconds, milliseconds) = unixMilliseconds.quotientAndRemainder(dividingBy: 1000)
        // Whole seconds, since the library's milliseconds go through floating point.
        let whole = Date.ISO8601FormatStyle().format(Date(timeIntervalSince1970: Double(seconds)))
        let digits = "\(milliseconds)"
        return "\(whole.dropLast()).\(String(repeating: "0", count: 3 - digits.count))\(digits)Z"
    }

    /// For instance `2013-04-23T09:30:00.000Z`.
    static func text(unixSeconds: UInt32) -> String {
        text(unixMilliseconds: Int64(unixSeconds) * 1000)
    }
}
