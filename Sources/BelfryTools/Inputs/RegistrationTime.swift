import Foundation

/// Reads when a token registered: UNIX seconds, or a time after ISO 8601 as `belfry tokens show` prints it.
package enum RegistrationTime {
    package static let allowed = "UNIX seconds, 1...\(UInt32.max), or a time such as 2026-01-31T12:00:00Z"

    /// UNIX seconds, parts of a second cut off. Nil: neither form, or a time that a registration cannot have.
    package static func parse(_ text: String) -> UInt32? {
        let seconds: UInt32?
        if text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) {
            seconds = UInt32(text)
        } else {
            let style = Date.ISO8601FormatStyle(includingFractionalSeconds: text.contains("."))
            seconds = (try? style.parse(text)).flatMap { UInt32(exactly: $0.timeIntervalSince1970.rounded(.down)) }
        }
        return seconds == 0 ? nil : seconds
    }
}
