import APNsProtocol
import Foundation
import PushSchemas
import SwiftProtobuf

/// Cuts a list of tokens into the records of push.requests: one shard's tokens per record, at most so many in one.
///
/// Pure; tokens keep their order within a shard.
struct RequestBatcher {
    /// Fields that all records of one call have in common.
    struct Template: Equatable, Sendable {
        var bundleID: String
        var requestID: String
        var environment = ""
        /// JSON bytes, checked.
        var payload: [UInt8]
        /// UNIX seconds; nil: do not store.
        var expiration: UInt32?
        /// 10, 5 or 1; nil: not said.
        var priority: UInt32?
        /// Empty: none.
        var coalescingKey = ""
        /// Empty: not named.
        var pushType = ""
        /// Empty: none.
        var collapseID = ""
        /// The only token is the id of a channel, UTF-8.
        var isBroadcast = false
        var report: RequestReport?
        /// At least 1.
        var spread: UInt32 = 1
        /// At least 1.
        var tokensPerRecord = 500
        var format = RecordFormat.protobuf
    }

    private let template: Template
    /// Token indices that wait, by shard.
    private var waiting: [[Int]]

    init(_ template: Template) {
        precondition(template.spread >= 1 && template.tokensPerRecord >= 1, "checked by the caller")
        self.template = template
        waiting = Array(repeating: [], count: Int(template.spread))
    }

    /// Calls `emit` with every record for `tokens`, in order.
    mutating func forEachRecord(of tokens: TokenList, _ emit: (OutgoingRecord) throws -> Void) throws {
        for index in 0..<tokens.count {
            let shard = Int(tokens.withToken(at: index) { RecordKey.shard(of: $0, spread: template.spread) })
            waiting[shard].append(index)
            if waiting[shard].count == template.tokensPerRecord { try emit(takeRecord(shard, of: tokens)) }
        }
        for shard in waiting.indices where !waiting[shard].isEmpty { try emit(takeRecord(shard, of: tokens)) }
    }

    private mutating func takeRecord(_ shard: Int, of tokens: TokenList) throws -> OutgoingRecord {
        let indices = waiting[shard]
        waiting[shard].removeAll(keepingCapacity: true)
        let request = request(for: indices, of: tokens)
        let key = try RecordKey(bundleID: template.bundleID, shard: template.spread > 1 ? UInt32(shard) : nil)
        let type: RecordContentType = template.format == .json ? .json : .protobuf
        return OutgoingRecord(
            key: key.description,
            value: type == .json ? try request.jsonUTF8Bytes() : try request.serializedBytes(),
            headers: type == .json ? [(RecordContentType.headerName, Array(type.headerValue.utf8))] : [],
            tokenCount: indices.count
        )
    }

    private func request(for indices: [Int], of tokens: TokenList) -> PushSendRequest {
        var request = PushSendRequest()
        request.requestID = template.requestID
        request.environment = template.environment
        if let expiration = template.expiration { request.expiration = Int64(expiration) }
        if let priority = template.priority { request.priority = priority }
        request.coalescingKey = template.coalescingKey
        request.pushType = template.pushType
        request.collapseID = template.collapseID
        request.report = template.report?.message ?? .unspecified
        if template.isBroadcast {
            request.channel = tokens.withToken(at: indices[0]) { String(decoding: $0, as: UTF8.self) }
        }
        switch template.format {
        case .json:
            request.payloadJson = String(decoding: template.payload, as: UTF8.self)
            guard !template.isBroadcast else { break }
            request.tokens = indices.map { index in
                tokens.withToken(at: index) { bytes in .with { $0.hex = Hex.encode(bytes) } }
            }
        case .protobuf:
            request.payload = Data(template.payload)
            guard !template.isBroadcast else { break }
            let arePackable = indices.allSatisfy { index in
                tokens.withToken(at: index) { $0.count == SendRequestView.packedTokenBytes }
            }
            if arePackable {
                var packed = Data(capacity: indices.count * SendRequestView.packedTokenBytes)
                for index in indices { tokens.withToken(at: index) { packed.append(contentsOf: $0) } }
                request.packedTokens = packed
            } else {
                request.tokens = indices.map { index in
                    tokens.withToken(at: index) { bytes in .with { $0.raw = Data(bytes) } }
                }
            }
        }
        return request
    }
}
