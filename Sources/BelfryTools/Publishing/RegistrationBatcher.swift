import APNsProtocol
import BelfryProducer
import Foundation
import PushSchemas
import SwiftProtobuf

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
    func forEachRecord(of tokens: TokenList, _ emit: (OutgoingRecord) throws -> Void) throws {
        for index in 0..<tokens.count {
            try tokens.withToken(at: index) { try emit(try record(for: $0)) }
        }
    }

    /// - Parameter line: what the token's line says for itself.
    func record(for token: UnsafeRawBufferPointer, _ line: RegistrationLine? = nil) throws -> OutgoingRecord {
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
            $0.token = message(token)
            if let replaced = template.replaced { $0.replacedToken = replaced.withUnsafeBytes(message) }
        }
        let type: RecordContentType = template.format == .json ? .json : .protobuf
        return OutgoingRecord(
            key: try RecordKey(bundleID: template.bundleID, token: token, spread: template.spread).description,
            value: type == .json ? try registration.jsonUTF8Bytes() : try registration.serializedBytes(),
            headers: type == .json ? [(RecordContentType.headerName, Array(type.headerValue.utf8))] : [],
            tokenCount: 1
        )
    }
    private func message(_ token: UnsafeRawBufferPointer) -> PushDeviceToken {
        .with { $0.value = template.format == .json ? .hex(Hex.encode(token)) : .raw(Data(token)) }
    }
}
