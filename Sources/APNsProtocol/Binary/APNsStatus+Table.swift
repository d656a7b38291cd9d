extension APNsStatus {
    /// One line of the status table.
    public struct Entry: Sendable, Hashable {
        /// The status this line is about.
        public let status: APNsStatus
        /// Apple's text for the status, in lower case.
        public let meaning: String
        /// The first document that lists it.
        public let since: RuleSource
    }

    /// Every documented status, in ascending order of its byte.
    public static let table: [Entry] = [
        Entry(status: .noErrors, meaning: "no errors", since: .guide2010),
        Entry(status: .processingError, meaning: "processing error", since: .guide2010),
        Entry(status: .missingDeviceToken, meaning: "missing device token", since: .guide2010),
        Entry(status: .missingTopic, meaning: "missing topic", since: .guide2010),
        Entry(status: .missingPayload, meaning: "missing payload", since: .guide2010),
        Entry(status: .invalidTokenSize, meaning: "invalid token size", since: .guide2010),
        Entry(status: .invalidTopicSize, meaning: "invalid topic size", since: .guide2010),
        Entry(status: .invalidPayloadSize, meaning: "invalid payload size", since: .guide2010),
        Entry(status: .invalidToken, meaning: "invalid token", since: .guide2010),
        Entry(status: .shutdown, meaning: "shutdown", since: .guide2013),
        Entry(status: .protocolError, meaning: "protocol error", since: .later),
        Entry(status: .unknown, meaning: "none (unknown)", since: .guide2010),
    ]

    /// The table line of this status; `nil` for a byte that no source documents.
    public var entry: Entry? {
        Self.table.first { $0.status == self }
    }
}

extension APNsStatus: CustomStringConvertible {
    /// The byte and its meaning, e.g. `8 (invalid token)`.
    public var description: String {
        "\(rawValue) (\(entry?.meaning ?? "undocumented"))"
    }
}
