/// The reason in the body of an error of the provider API [later].
///
/// Any text is representable, so that an undocumented reason is reported unchanged. It is an error, too: a check that
/// plays the service throws the reason that the service would give.
public struct ProviderReason: RawRepresentable, Hashable, Sendable, Error {
    /// The text on the wire, e.g. `BadDeviceToken`.
    public let rawValue: String

    /// Wraps any text.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    // MARK: The request

    /// `apns-collapse-id` is longer than 64 bytes.
    public static let badCollapseID = ProviderReason(rawValue: "BadCollapseId")
    /// `apns-expiration` is no time.
    public static let badExpirationDate = ProviderReason(rawValue: "BadExpirationDate")
    /// `apns-id` is no UUID.
    public static let badMessageID = ProviderReason(rawValue: "BadMessageId")
    /// `apns-priority` is none, or not one of the push type.
    public static let badPriority = ProviderReason(rawValue: "BadPriority")
    /// `apns-topic` is invalid.
    public static let badTopic = ProviderReason(rawValue: "BadTopic")
    /// A header that may stand once stands twice.
    public static let duplicateHeaders = ProviderReason(rawValue: "DuplicateHeaders")
    /// `apns-push-type` is invalid.
    public static let invalidPushType = ProviderReason(rawValue: "InvalidPushType")
    /// The path names no device token.
    public static let missingDeviceToken = ProviderReason(rawValue: "MissingDeviceToken")
    /// `apns-topic` is absent, and the connection implies no topic.
    public static let missingTopic = ProviderReason(rawValue: "MissingTopic")
    /// The body is empty.
    public static let payloadEmpty = ProviderReason(rawValue: "PayloadEmpty")
    /// The body is longer than the push type allows.
    public static let payloadTooLarge = ProviderReason(rawValue: "PayloadTooLarge")
    /// The credential does not cover the topic.
    public static let topicDisallowed = ProviderReason(rawValue: "TopicDisallowed")
    /// The path is not one of the service's.
    public static let badPath = ProviderReason(rawValue: "BadPath")
    /// The method is not POST.
    public static let methodNotAllowed = ProviderReason(rawValue: "MethodNotAllowed")

    // MARK: The device token

    /// The device token is none, or one of the other environment.
    public static let badDeviceToken = ProviderReason(rawValue: "BadDeviceToken")
    /// The device token belongs to another topic.
    public static let deviceTokenNotForTopic = ProviderReason(rawValue: "DeviceTokenNotForTopic")
    /// The device token has expired.
    public static let expiredToken = ProviderReason(rawValue: "ExpiredToken")
    /// The device token is not active for the topic any more.
    public static let unregistered = ProviderReason(rawValue: "Unregistered")
    /// Too many requests in a row for one device token.
    public static let tooManyRequests = ProviderReason(rawValue: "TooManyRequests")

    // MARK: The provider

    /// The certificate is invalid.
    public static let badCertificate = ProviderReason(rawValue: "BadCertificate")
    /// The certificate is of the other environment.
    public static let badCertificateEnvironment = ProviderReason(rawValue: "BadCertificateEnvironment")
    /// The signing key is of the other environment.
    public static let badEnvironmentKeyID = ProviderReason(rawValue: "BadEnvironmentKeyIdInToken")
    /// The same, in the spelling seen on the wire [field].
    public static let badEnvironmentKey = ProviderReason(rawValue: "BadEnvironmentKeyInToken")
    /// The provider token is too old.
    public static let expiredProviderToken = ProviderReason(rawValue: "ExpiredProviderToken")
    /// The action is not allowed.
    public static let forbidden = ProviderReason(rawValue: "Forbidden")
    /// The provider token is invalid, or its signature cannot be verified.
    public static let invalidProviderToken = ProviderReason(rawValue: "InvalidProviderToken")
    /// Neither a certificate nor a provider token came.
    public static let missingProviderToken = ProviderReason(rawValue: "MissingProviderToken")
    /// Provider tokens change too often.
    public static let tooManyProviderTokenUpdates = ProviderReason(rawValue: "TooManyProviderTokenUpdates")
    /// The signing key is unrelated to the first one of the connection.
    public static let unrelatedKeyID = ProviderReason(rawValue: "UnrelatedKeyIdInToken")

    // MARK: The service

    /// The connection was idle for too long.
    public static let idleTimeout = ProviderReason(rawValue: "IdleTimeout")
    /// An error inside the service.
    public static let internalServerError = ProviderReason(rawValue: "InternalServerError")
    /// The service is not available.
    public static let serviceUnavailable = ProviderReason(rawValue: "ServiceUnavailable")
    /// The server shuts down.
    public static let shutdown = ProviderReason(rawValue: "Shutdown")

    // MARK: Broadcasts

    /// The channel id is invalid.
    public static let badChannelID = ProviderReason(rawValue: "BadChannelId")
    /// A parameter of the request is invalid.
    public static let badRequestParams = ProviderReason(rawValue: "BadRequestParams")
    /// The body of the request is invalid.
    public static let badRequestPayload = ProviderReason(rawValue: "BadRequestPayload")
    /// The app has as many channels as it may have.
    public static let cannotCreateChannelConfig = ProviderReason(rawValue: "CannotCreateChannelConfig")
    /// The channel does not exist.
    public static let channelNotRegistered = ProviderReason(rawValue: "ChannelNotRegistered")
    /// Broadcasts are not enabled for the app.
    public static let featureNotEnabled = ProviderReason(rawValue: "FeatureNotEnabled")
    /// The request names no channel.
    public static let missingChannelID = ProviderReason(rawValue: "MissingChannelId")
    /// The request names no push type.
    public static let missingPushType = ProviderReason(rawValue: "MissingPushType")
    /// The credential is not one of the app.
    public static let topicMismatch = ProviderReason(rawValue: "TopicMismatch")
}

extension ProviderReason: CustomStringConvertible {
    /// The text on the wire.
    public var description: String { rawValue }
}
