import APNsProtocol
import PushSchemas
import RequestRules

/// An app to which requests are published, and what its environment demands of them.
///
/// The same stands in the workers' configuration; what is wrong by these rules becomes a dead letter there.
public struct PushBundle: Sendable, Equatable {
    /// The interface of the push service that the bundle's environment has.
    public enum Interface: Sendable, Equatable {
        /// The provider API over HTTP/2: payload limits by push type.
        case http2
        /// The binary interface: one payload limit, 256 ... 2048 bytes.
        case binary(payloadLimitBytes: Int)
    }

    /// 1 ... 255 of the characters `A-Z a-z 0-9 . - _`.
    public var id: String
    public var interface = Interface.http2
    /// Number of keys that the bundle is spread over, 1 ... 65,536. All publishers of a bundle must agree on it.
    public var spread = 1
    /// The longest token that the gateway takes, 32 ... 100 bytes: the environment's `token-limit`. Nil: 100 over
    /// HTTP/2, 32 over the binary interface.
    public var tokenLimitBytes: Int?
    /// Most tokens in a record, 1 ... 10,000; fewer where it would not fit into Kafka's limit.
    public var tokensPerRecord = 500
    /// Requests whose texts have a payment card or social-security number are refused. `true` where the workers'
    /// configuration has `sensitive-data: refuse`.
    public var refusesSensitiveData = false

    public init(id: String) {
        self.id = id
    }

    var validator: RequestValidator {
        var validator =
            switch interface {
            case .http2:
                RequestValidator(transport: .http2, payload: .byPushType, tokens: rule(limitBytes: 100))
            case .binary(let bytes):
                RequestValidator(transport: .binary, payload: .limit(bytes: bytes), tokens: rule(limitBytes: 32))
            }
        validator.sensitiveData = refusesSensitiveData ? .refuse : .off
        return validator
    }

    private func rule(limitBytes: Int) -> TokenRule {
        TokenRule(lengths: 32...(tokenLimitBytes ?? limitBytes), spread: UInt32(clamping: spread))
    }

    /// - Throws: ``ProducerError/refused(_:)`` with `bundle-invalid`; ``ProducerError/misconfigured(_:)``.
    func check() throws(ProducerError) {
        do throws(RecordError) {
            _ = try RecordKey(bundleID: id)
        } catch {
            throw .refused([RequestFault(RecordRefusal(error))])
        }
        try ProducerError.checkSetting("spread", spread, 1...65_536)
        try ProducerError.checkSetting("tokensPerRecord", tokensPerRecord, 1...10_000)
        if let tokenLimitBytes { try ProducerError.checkSetting("tokenLimitBytes", tokenLimitBytes, 32...100) }
        if case .binary(let bytes) = interface {
            let allowed = PayloadLimit.binary2013...PayloadLimit.binaryIOS8
            try ProducerError.checkSetting("payloadLimitBytes", bytes, allowed)
        }
    }
}
