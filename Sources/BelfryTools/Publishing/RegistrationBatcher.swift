import APNsProtocol
import BelfryProducer
import PushSchemas

/// Makes the records of push.registrations: one per token, under the key of its shard. Pure.
struct RegistrationBatcher {
    /// Fields that all records of one call have in common.
    struct Template: Equatable, Sendable {
        var bundleID: String
        var environment = ""
        /// UNIX seconds; nil: when the record is published.
        var registeredAt: UInt32?
        var kind = RegistrationOrder.Kind.register
        /// The token whose place is taken; nil: none's.
        var replaced: [UInt8]?
        var locale = ""
        var timeZone = ""
        /// At least 1.
        var spread: UInt32 = 1
        var format = RecordFormat.protobuf
    }

    private let template: Template

    init(_ template: Template) {
        precondition(template.spread >= 1, "checked by the caller")
        self.template = template
    }

    /// Calls `emit` with every record for `tokens`, in order.
    func forEachRecord(of tokens: PackedTokens, _ emit: (OutgoingRecord) throws -> Void) throws {
        for index in 0..<tokens.count {
            try tokens.withToken(at: index) { try emit(try record(for: $0)) }
        }
    }

    /// - Parameter line: what the token's line says for itself.
    func record(for token: UnsafeRawBufferPointer, _ line: RegistrationLine? = nil) throws -> OutgoingRecord {
        let type = template.format.contentType
        let registration = PushRegistration.with {
            $0.environment = template.environment
            if let time = line?.registeredAt ?? template.registeredAt { $0.registeredAt = Int64(time) }
            $0.kind =
                switch template.kind {
                case .register: .register
                case .unregister: .unregister
                case .describe: .describe
                }
            $0.locale = line?.locale ?? template.locale
            $0.timeZone = line?.timeZone ?? template.timeZone
            $0.token = type.message(of: token)
            if let replaced = template.replaced { $0.replacedToken = replaced.withUnsafeBytes(type.message) }
        }
        return OutgoingRecord(
            key: try RecordKey(bundleID: template.bundleID, token: token, spread: template.spread).description,
            value: try type.encode(registration),
            headers: type.headers,
            tokenCount: 1
        )
    }
}
