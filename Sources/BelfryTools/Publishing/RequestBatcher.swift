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

    /// Most tokens that wait in all shards together, for a bundle that is spread over very many keys.
    static let mostWaiting = 1 << 19

    private let template: Template
    private let mostWaiting: Int
    /// Tokens that wait, by shard.
    private var waiting: [TokenList]
    private var waitingCount = 0
    /// The fields before and behind the tokens in the binary form.
    private let head: [UInt8]
    private let tail: [UInt8]

    init(_ template: Template, mostWaiting: Int = RequestBatcher.mostWaiting) throws {
        precondition(template.spread >= 1 && template.tokensPerRecord >= 1, "checked by the caller")
        self.template = template
        self.mostWaiting = mostWaiting
        waiting = Array(repeating: TokenList(), count: Int(template.spread))
        head = try Self.head(of: template).serializedBytes()
        tail = try Self.tail(of: template).serializedBytes()
    }

    /// Adds a token; calls `emit` with the record that it fills, and with all if too many tokens wait.
    mutating func add(_ token: UnsafeRawBufferPointer, _ emit: (OutgoingRecord) throws -> Void) throws {
        let shard = Int(RecordKey.shard(of: token, spread: template.spread))
        waiting[shard].append(token)
        waitingCount += 1
        if waiting[shard].count == template.tokensPerRecord { try emit(takeRecord(shard)) }
        if waitingCount >= mostWaiting { try flush(emit) }
    }

    /// Calls `emit` with the records of all tokens that wait.
    mutating func flush(_ emit: (OutgoingRecord) throws -> Void) throws {
        guard waitingCount > 0 else { return }
        for shard in waiting.indices where !waiting[shard].isEmpty { try emit(takeRecord(shard)) }
    }

    /// Calls `emit` with every record for `tokens`, in order.
    mutating func forEachRecord(of tokens: TokenList, _ emit: (OutgoingRecord) throws -> Void) throws {
        for index in 0..<tokens.count {
            try tokens.withToken(at: index) { try add($0, emit) }
        }
        try flush(emit)
    }

    private mutating func takeRecord(_ shard: Int) throws -> OutgoingRecord {
        let count = waiting[shard].count
        defer {
            waiting[shard].removeAll()
            waitingCount -= count
        }
        let key = try RecordKey(bundleID: template.bundleID, shard: template.spread > 1 ? UInt32(shard) : nil)
        let isJSON = template.format == .json
        return OutgoingRecord(
            key: key.description,
            value: try isJSON ? request(for: waiting[shard]).jsonUTF8Bytes() : binary(waiting[shard]),
            headers: isJSON ? [(RecordContentType.headerName, Array(RecordContentType.json.headerValue.utf8))] : [],
            tokenCount: count
        )
    }

    private func binary(_ tokens: TokenList) throws -> [UInt8] {
        guard !template.isBroadcast, let packed = tokens.packed else {
            return try request(for: tokens).serializedBytes()
        }
        var value: [UInt8] = []
        value.reserveCapacity(head.count + packed.count + tail.count + 6)
        value += head
        value.append(Self.packedTokensTag)
        var length = packed.count
        while length >= 0x80 {
            value.append(UInt8(truncatingIfNeeded: length) | 0x80)
            length >>= 7
        }
        value.append(UInt8(length))
        value += packed
        value += tail
        return value
    }

    /// Of the field `packed_tokens`, 6, which has a length.
    private static let packedTokensTag: UInt8 = 6 << 3 | 2

    private func request(for tokens: TokenList) throws -> PushSendRequest {
        var request = Self.head(of: template)
        try request.merge(serializedBytes: tail)
        if template.isBroadcast {
            request.channel = tokens.withToken(at: 0) { String(decoding: $0, as: UTF8.self) }
        } else {
            request.tokens = (0..<tokens.count).map { index in
                tokens.withToken(at: index) { bytes in
                    .with { $0.value = template.format == .json ? .hex(Hex.encode(bytes)) : .raw(Data(bytes)) }
                }
            }
        }
        return request
    }

    /// The fields with numbers below those of the tokens.
    private static func head(of template: Template) -> PushSendRequest {
        .with {
            $0.requestID = template.requestID
            $0.environment = template.environment
            switch template.format {
            case .json: $0.payloadJson = String(decoding: template.payload, as: UTF8.self)
            case .protobuf: $0.payload = Data(template.payload)
            }
        }
    }

    /// The fields with numbers above those of the tokens.
    private static func tail(of template: Template) -> PushSendRequest {
        .with {
            if let expiration = template.expiration { $0.expiration = Int64(expiration) }
            if let priority = template.priority { $0.priority = priority }
            $0.coalescingKey = template.coalescingKey
            $0.pushType = template.pushType
            $0.collapseID = template.collapseID
            $0.report = template.report?.message ?? .unspecified
        }
    }
}
