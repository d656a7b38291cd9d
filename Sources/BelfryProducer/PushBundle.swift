import APNsProtocol
import PushSchemas
import RequestRules

/// An app to which requests are published, and what its environment demands of them.
///
/// The same stands in the workers' configuration; what is wrong by these rules becomes a dead letter there.
public struct PushBundle: Sendable, Equatable {
    /// The interface of the push service that the bundle's environment has.
    public enum Interface: Sendable, Equatable {
        /// The provider API over HTTP/2: limits by push type, tokens of 32 ... 100 bytes.
        case http2
        /// The binary interface: a payload limit of 256 or 2048 bytes, tokens of 32 bytes.
        case binary(payloadLimitBytes: Int)
    }

    /// 1 ... 255 of the characters `A-Z a-z 0-9 . - _`.
    public var id: String
    public var interface = Interface.http2
    /// Number of keys that the bundle is spread over, 1 ... 65,536. All publishers of a bundle must agree on it.
    public var spread = 1
    /// Most tokens in a record, 1 ... 10,000.
    public var tokensPerRecord = 500

    public init(id: String) {
        self.id = id
    }

    var validator: RequestValidator {
        switch interface {
        case .http2:
            RequestValidator(transport: .http2, payload: .byPushType, tokens: rule(32...100))
        case .binary(let bytes):
            RequestValidator(transport: .binary, payload: .limit(bytes: bytes), tokens: rule(32...32))
        }
    }

    private func rule(_ lengths: ClosedRange<Int>) -> TokenRule {
        TokenRule(lengths: lengths, spread: UInt32(clamping: spread))
    }

    /// - Throws: ``ProducerError/refused(_:)`` with `bundle-invalid`; ``ProducerError/misconfigured(_:)``.
    func check() throws(ProducerError) {
        do throws(RecordError) {
            _ = try RecordKey(bundleID: id)
        } catch {
            throw .refused([RequestFault(RecordRefusal(error))])
        }
        guard (1...65_536).contains(spread) else {
            throw .misconfigured("spread: found \(spread); allowed: 1...65536")
        }
        guard (1...10_000).contains(tokensPerRecord) else {
            throw .misconfigured("tokensPerRecord: found \(tokensPerRecord); allowed: 1...10000")
        }
    }
}
