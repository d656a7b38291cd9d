/// The service's answer to one request of the provider API.
public struct ProviderAnswer: Hashable, Sendable {
    /// The HTTP status; any number that came.
    public let status: Int
    /// The reason of an error; nil for a success, and for an error whose body cannot be used.
    public let reason: ProviderReason?
    /// The time since when the token is dead, UNIX milliseconds; only with status 410.
    public let timestampMilliseconds: Int64?
    /// The answer's `apns-id`; nil if it is absent or no UUID.
    public let id: NotificationID?
    /// The fault of an error's body, for logs.
    public let bodyFault: ProviderErrorBodyFault?

    /// Judges a whole answer.
    ///
    /// - Parameters:
    ///   - body: all of it, or its first ``ProviderErrorBody/limitBytes`` + 1 bytes; ignored for a success.
    public init(status: Int, id: NotificationID?, body: UnsafeRawBufferPointer) {
        self.status = status
        self.id = id
        guard status != 200 else {
            reason = nil
            timestampMilliseconds = nil
            bodyFault = nil
            return
        }
        let parsed = Result { () throws(ProviderErrorBodyFault) in try ProviderErrorBody(parsing: body) }
        switch parsed {
        case .success(let error):
            reason = error.reason
            timestampMilliseconds = status == 410 ? error.timestampMilliseconds : nil
            bodyFault = nil
        case .failure(let fault):
            reason = nil
            timestampMilliseconds = nil
            bodyFault = fault
        }
    }

    /// The consequence for the provider, see ``ProviderVerdict/init(status:reason:)``.
    ///
    /// A death without its time cannot be compared with a registration: it counts as a refusal of the token [ours].
    public var verdict: ProviderVerdict {
        let verdict = ProviderVerdict(status: status, reason: reason)
        return verdict == .tokenDead && timestampMilliseconds == nil ? .tokenRefused : verdict
    }

    /// The time since when the token is dead, UNIX seconds, rounded down; not nil for ``ProviderVerdict/tokenDead``.
    public var deadSinceSeconds: UInt32? {
        timestampMilliseconds.map { UInt32(clamping: $0 / 1000) }
    }

    /// The answer adds to those for which the service slows a connection down or closes it: a rejection other than
    /// 410.
    public var slowsConnection: Bool {
        (400...499).contains(status) && status != 410
    }
}
