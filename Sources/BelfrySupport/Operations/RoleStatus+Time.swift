import Foundation

extension RoleStatus {
    /// A time. JSON has it as commands print it: `2026-01-31T12:00:00.000Z`.
    public struct Time: Codable, Sendable, Equatable {
        public let unixMilliseconds: Int64

        public init(unixSeconds: Double) {
            unixMilliseconds = Int64((unixSeconds * 1000).rounded())
        }

        public init(from decoder: any Decoder) throws {
            let text = try decoder.singleValueContainer().decode(String.self)
            let time = try Date.ISO8601FormatStyle(includingFractionalSeconds: true).parse(text)
            self.init(unixSeconds: time.timeIntervalSince1970)
        }

        public func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(UTCTimestamp.text(unixMilliseconds: unixMilliseconds))
        }

        public var unixSeconds: Double { Double(unixMilliseconds) / 1000 }
    }
}
