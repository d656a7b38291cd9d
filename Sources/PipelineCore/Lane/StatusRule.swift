import APNsProtocol

/// The meaning of an error response's status for the notification it names.
public enum StatusRule: Equatable, Sendable {
    /// Refused for good, and the token with it: the token gets a tombstone with the reason *invalid*.
    case rejectToken
    /// Refused for good because of the content: a dead letter.
    case deadLetter
    /// A trouble of the gateway itself: sent again after a back-off, a limited number of times.
    case retry
    /// The whole topic is refused: nothing goes on until the topic works again.
    case stopTopic
    /// The reason is unknown: sent once more with nothing else in flight, then a dead letter.
    case isolate
    /// Not an error: the named notification *was* sent, the connection is ending ([13]).
    case acceptedLast
    /// Says nothing about any notification.
    case unattributable

    public init(_ status: APNsStatus) {
        switch status {
        case .invalidToken, .invalidTokenSize: self = .rejectToken
        case .invalidPayloadSize, .missingPayload, .missingDeviceToken: self = .deadLetter
        case .processingError: self = .retry
        case .missingTopic, .invalidTopicSize: self = .stopTopic
        case .shutdown: self = .acceptedLast
        case .noErrors: self = .unattributable
        default: self = .isolate
        }
    }
}
