import APNsProtocol
import PipelineCore
import ProviderCredentials

/// The provider tokens of one credential: the one in use, and which one the requests of each connection carried.
struct CredentialTokens {
    let key: ProviderKeyID
    private let tokens: ProviderTokens
    private let unixMilliseconds: () -> Int64
    private var current: ProviderTokens.Authorization?
    /// The connections' tokens since their first streams with them; the latest last, two at most.
    private var uses: [UInt32: [(serial: UInt64, since: Int32)]] = [:]
    /// Connections that had a notification accepted, with the token's serial.
    private var accepted: [UInt32: UInt64] = [:]
    private var askedAt: MonotonicTime?
    /// The edition of the latest token, kept while there is none.
    private(set) var edition: UInt64?
    private var isReplaced = false

    /// The time between two questions for the token.
    private static let interval = Duration.seconds(1)

    init(_ key: ProviderKeyID, _ tokens: ProviderTokens, unixMilliseconds: @escaping () -> Int64) {
        self.key = key
        self.tokens = tokens
        self.unixMilliseconds = unixMilliseconds
    }

    /// The value of `authorization` for requests that go now; nil: there is none at present.
    mutating func authorization(now: MonotonicTime) -> [UInt8]? {
        if let current, let askedAt, askedAt + Self.interval > now { return current.value }
        askedAt = now
        switch tokens.authorization(key, now: now, unixSeconds: unixMilliseconds() / 1000) {
        case .use(let authorization):
            if let edition, edition != authorization.edition { isReplaced = true }
            edition = authorization.edition
            current = authorization
        case .wait, .keyMissing, .failed: current = nil
        }
        return current?.value
    }

    /// True once after another key has taken the place of the one whose tokens the connections carried.
    mutating func takeReplacement() -> Bool {
        defer { isReplaced = false }
        return isReplaced
    }

    /// A request on a stream carries the current token.
    mutating func used(on connection: UInt32, from stream: Int32) {
        guard let current, uses[connection]?.last?.serial != current.serial else { return }
        uses[connection] = (uses[connection]?.suffix(1) ?? []) + [(current.serial, stream)]
    }

    mutating func forget(connection: UInt32) {
        uses[connection] = nil
        accepted[connection] = nil
    }

    /// Judges an answer further, by the history of the token.
    mutating func judge(
        _ verdict: ProviderVerdict,
        on connection: UInt32,
        _ stream: Int32,
        openedAt: MonotonicTime,
        now: MonotonicTime
    ) -> ProviderVerdict {
        guard let serial = uses[connection]?.last(where: { $0.since <= stream })?.serial else { return verdict }
        switch verdict {
        case .accepted:
            guard accepted[connection] != serial else { return verdict }
            accepted[connection] = serial
            tokens.accepted(key, serial: serial, connectionOpenedAt: openedAt)
        case .reconnectOnce:
            // The next request asks for the token of the time.
            askedAt = nil
            let judgement = tokens.refused(key, serial: serial, connectionOpenedAt: openedAt, now: now)
            if judgement == .teamDoesNotWork { return .doesNotWork(.team) }
        default:
            break
        }
        return verdict
    }
}

extension AppCredential {
    /// The credential for people.
    var name: String {
        switch self {
        case .certificate(let bundleID): "certificate of \(bundleID)"
        case .voipCertificate(let bundleID): "certificate of VoIP Services of \(bundleID)"
        case .key(let id): "\(id)"
        }
    }
}
