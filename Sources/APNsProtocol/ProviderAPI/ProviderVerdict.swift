/// The consequence of an answer of the provider API for the provider.
///
/// From status and reason alone: the rules that need more (trust, a registration's time, attempts so far) are the
/// reader's.
public enum ProviderVerdict: Hashable, Sendable {
    /// The extent of a refusal of the provider itself.
    public enum Extent: Hashable, Sendable {
        /// The topic of the request.
        case topic
        /// All topics of the team whose provider token it was.
        case team
    }

    /// Proven accepted.
    case accepted
    /// Refused for good because of the request; the token is innocent.
    case rejected
    /// The credential may not send to the topic of the request [later]. Alone it condemns the request, whose token is
    /// innocent; in a row it shows that the app does not work.
    case topicRefused
    /// Refused for good because of a defect of ours: a dead letter.
    case deadLetter
    /// The token is dead since the answer's time: a tombstone, unless it has registered since.
    case tokenDead
    /// Refused for good, and the token with it, which may be one of another environment or app: a tombstone only if
    /// the topic is trusted.
    case tokenRefused
    /// The same later, for a limited time: this token gets too much. Others are not concerned.
    case retryTokenLater
    /// Nothing of the topic or the team goes out until it works again.
    case doesNotWork(Extent)
    /// The service does not take the provider token on this connection, which stays of no use [field]: the same again
    /// over a new one, with the token of the time. Once more refused: the team does not work.
    case reconnectOnce
    /// The connection takes no more, as after GOAWAY: the same again over another; what it still answers counts. After
    /// too many new provider tokens the present one stays [field].
    case reconnect
    /// A trouble of the service: the same again after a back-off. Many show that the topic does not work.
    case backOff

    /// Judges an answer by the table; by the class of its status if the table does not have the pair.
    ///
    /// An error that names no reason is not the service's but, for example, that of a proxy or of a wrong host: nothing
    /// is refused for good because of it [ours].
    public init(status: Int, reason: ProviderReason?) {
        if status == 200 {
            self = .accepted
        } else if let entry = reason?.entry, entry.statuses.contains(status) {
            self = entry.verdict
        } else if reason == nil, status != 403 {
            self = .backOff
        } else {
            self = Self.byClass(of: status)
        }
    }

    /// The meaning of a status with an unknown reason [ours].
    private static func byClass(of status: Int) -> ProviderVerdict {
        switch status {
        case 403: .doesNotWork(.topic)
        case 404, 405: .deadLetter
        case 410: .tokenDead
        case 429: .retryTokenLater
        case 400...499: .rejected
        default: .backOff
        }
    }
}
