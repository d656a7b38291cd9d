import APNsProtocol
import Testing

@Suite struct ProviderVerdictTests {
    /// The protocol's table, written down once more: what each status and reason leads to.
    static let rows: [(Int, String, ProviderVerdict)] = [
        (400, "BadCollapseId", .rejected), (400, "BadExpirationDate", .rejected), (400, "BadMessageId", .rejected),
        (400, "BadPriority", .rejected), (400, "BadTopic", .topicRefused), (400, "DuplicateHeaders", .rejected),
        (400, "InvalidPushType", .rejected), (400, "MissingDeviceToken", .rejected), (400, "MissingTopic", .rejected),
        (400, "PayloadEmpty", .rejected), (400, "TopicDisallowed", .topicRefused), (413, "PayloadTooLarge", .rejected),
        (400, "BadDeviceToken", .tokenRefused), (400, "DeviceTokenNotForTopic", .tokenRefused),
        (400, "IdleTimeout", .reconnect),
        (403, "BadCertificate", .doesNotWork(.topic)), (403, "BadCertificateEnvironment", .doesNotWork(.topic)),
        (403, "Forbidden", .doesNotWork(.topic)), (403, "InvalidProviderToken", .doesNotWork(.team)),
        (403, "MissingProviderToken", .doesNotWork(.team)), (403, "BadEnvironmentKeyIdInToken", .doesNotWork(.team)),
        (403, "BadEnvironmentKeyInToken", .doesNotWork(.team)), (403, "ExpiredProviderToken", .reconnectOnce),
        (403, "UnrelatedKeyIdInToken", .reconnectOnce), (404, "BadPath", .deadLetter),
        (405, "MethodNotAllowed", .deadLetter), (410, "Unregistered", .tokenDead), (410, "ExpiredToken", .tokenDead),
        (429, "TooManyRequests", .retryTokenLater), (429, "TooManyProviderTokenUpdates", .reconnect),
        (500, "InternalServerError", .backOff), (503, "InternalServerError", .backOff),
        (500, "ServiceUnavailable", .backOff), (503, "ServiceUnavailable", .backOff),
        (500, "Shutdown", .reconnect), (503, "Shutdown", .reconnect),
    ]

    /// Reasons of broadcasts, which have no row of their own in that table.
    static let broadcastRows: [(Int, String, ProviderVerdict)] = [
        (400, "FeatureNotEnabled", .rejected), (400, "MissingChannelId", .rejected), (400, "BadChannelId", .rejected),
        (400, "ChannelNotRegistered", .rejected), (400, "BadRequestParams", .rejected),
        (400, "BadRequestPayload", .rejected), (400, "MissingPushType", .rejected),
        (400, "CannotCreateChannelConfig", .rejected), (403, "TopicMismatch", .doesNotWork(.topic)),
    ]

    @Test("Every status and reason of the table leads to what the table says", arguments: rows + broadcastRows)
    func table(status: Int, reason: String, verdict: ProviderVerdict) {
        #expect(ProviderVerdict(status: status, reason: ProviderReason(rawValue: reason)) == verdict)
    }

    @Test("The table has these rows and no others")
    func completeness() {
        let known = ProviderReason.table.flatMap { entry in entry.statuses.map { "\($0) \(entry.reason)" } }
        #expect(known.sorted() == (Self.rows + Self.broadcastRows).map { "\($0.0) \($0.1)" }.sorted())
    }

    @Test("Status 200 alone is an acceptance")
    func accepted() {
        #expect(ProviderVerdict(status: 200, reason: nil) == .accepted)
        for status in [0, 100, 199, 201, 204, 301, 400, 410, 500, 999] {
            #expect(ProviderVerdict(status: status, reason: nil) != .accepted)
        }
    }

    @Test(
        "An unknown reason is judged by the class of its status",
        arguments: [
            (400, .rejected), (401, .rejected), (403, .doesNotWork(.topic)), (404, .deadLetter), (405, .deadLetter),
            (410, .tokenDead), (413, .rejected), (418, .rejected), (429, .retryTokenLater), (500, .backOff),
            (502, .backOff), (503, .backOff), (599, .backOff), (204, .backOff), (302, .backOff), (0, .backOff),
        ] as [(Int, ProviderVerdict)]
    )
    func unknownReason(status: Int, verdict: ProviderVerdict) {
        #expect(ProviderVerdict(status: status, reason: ProviderReason(rawValue: "SomethingNew")) == verdict)
    }

    @Test("A known reason with a status of another kind is judged by the status")
    func foreignStatus() {
        #expect(ProviderVerdict(status: 400, reason: .unregistered) == .rejected)
        #expect(ProviderVerdict(status: 503, reason: .badDeviceToken) == .backOff)
        #expect(ProviderVerdict(status: 400, reason: .forbidden) == .rejected)
    }

    @Test("An error without a reason is not the service's: nothing is refused for good", arguments: 300...599)
    func noReason(status: Int) {
        let verdict = ProviderVerdict(status: status, reason: nil)
        #expect(verdict == (status == 403 ? .doesNotWork(.topic) : .backOff))
    }

    @Test("Both spellings of the key of another environment have a line of the table")
    func spellings() {
        #expect(ProviderReason(rawValue: "BadEnvironmentKeyIdInToken").entry?.source == .later)
        #expect(ProviderReason(rawValue: "BadEnvironmentKeyInToken").entry?.source == .field)
        #expect(ProviderReason(rawValue: "badEnvironmentKeyInToken").entry == nil)
    }
}
