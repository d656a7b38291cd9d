extension ProviderReason {
    /// One line of the table of reasons.
    public struct Entry: Sendable, Hashable {
        /// The reason this line is about.
        public let reason: ProviderReason
        /// The HTTP statuses that it comes with, the usual one first.
        public let statuses: [Int]
        /// The consequence for the provider.
        public let verdict: ProviderVerdict
        /// The source that names it.
        public let source: RuleSource

        init(
            _ statuses: Int...,
            reason: ProviderReason,
            verdict: ProviderVerdict,
            source: RuleSource = .later
        ) {
            self.reason = reason
            self.statuses = statuses
            self.verdict = verdict
            self.source = source
        }
    }

    /// Every documented reason, by status.
    public static let table: [Entry] = [
        Entry(400, reason: .badCollapseID, verdict: .rejected),
        Entry(400, reason: .badExpirationDate, verdict: .rejected),
        Entry(400, reason: .badMessageID, verdict: .rejected),
        Entry(400, reason: .badPriority, verdict: .rejected),
        Entry(400, reason: .badTopic, verdict: .topicRefused),
        Entry(400, reason: .duplicateHeaders, verdict: .rejected),
        Entry(400, reason: .invalidPushType, verdict: .rejected),
        Entry(400, reason: .missingDeviceToken, verdict: .rejected),
        Entry(400, reason: .missingTopic, verdict: .rejected),
        Entry(400, reason: .payloadEmpty, verdict: .rejected),
        Entry(400, reason: .topicDisallowed, verdict: .topicRefused),
        Entry(400, reason: .badDeviceToken, verdict: .tokenRefused),
        Entry(400, reason: .deviceTokenNotForTopic, verdict: .tokenRefused),
        Entry(400, reason: .idleTimeout, verdict: .reconnect),
        Entry(400, reason: .badChannelID, verdict: .rejected),
        Entry(400, reason: .badRequestParams, verdict: .rejected),
        Entry(400, reason: .badRequestPayload, verdict: .rejected),
        Entry(400, reason: .cannotCreateChannelConfig, verdict: .rejected),
        Entry(400, reason: .channelNotRegistered, verdict: .rejected),
        Entry(400, reason: .featureNotEnabled, verdict: .rejected),
        Entry(400, reason: .missingChannelID, verdict: .rejected),
        Entry(400, reason: .missingPushType, verdict: .rejected),
        Entry(403, reason: .badCertificate, verdict: .doesNotWork(.topic)),
        Entry(403, reason: .badCertificateEnvironment, verdict: .doesNotWork(.topic)),
        Entry(403, reason: .forbidden, verdict: .doesNotWork(.topic)),
        Entry(403, reason: .topicMismatch, verdict: .doesNotWork(.topic)),
        Entry(403, reason: .badEnvironmentKeyID, verdict: .doesNotWork(.team)),
        Entry(403, reason: .badEnvironmentKey, verdict: .doesNotWork(.team), source: .field),
        Entry(403, reason: .invalidProviderToken, verdict: .doesNotWork(.team)),
        Entry(403, reason: .missingProviderToken, verdict: .doesNotWork(.team)),
        Entry(403, reason: .expiredProviderToken, verdict: .reconnectOnce),
        Entry(403, reason: .unrelatedKeyID, verdict: .reconnectOnce),
        Entry(404, reason: .badPath, verdict: .deadLetter),
        Entry(405, reason: .methodNotAllowed, verdict: .deadLetter),
        Entry(410, reason: .unregistered, verdict: .tokenDead),
        Entry(410, reason: .expiredToken, verdict: .tokenDead),
        Entry(413, reason: .payloadTooLarge, verdict: .rejected),
        Entry(429, reason: .tooManyRequests, verdict: .retryTokenLater),
        Entry(429, reason: .tooManyProviderTokenUpdates, verdict: .reconnect),
        Entry(500, 503, reason: .internalServerError, verdict: .backOff),
        Entry(503, 500, reason: .serviceUnavailable, verdict: .backOff),
        Entry(503, 500, reason: .shutdown, verdict: .reconnect),
    ]

    private static let entries = Dictionary(uniqueKeysWithValues: table.map { ($0.reason, $0) })

    /// The table line of this reason; `nil` for one that no source names.
    ///
    /// A reason comes from a peer: only one with a line may become the label of a metric.
    public var entry: Entry? { Self.entries[self] }
}
