import PushSchemas
import RequestRules
import SwiftProtobuf

/// Cuts a list of tokens into records of requests: one shard's tokens per record, at most so many in one, and
/// no more than Kafka takes.
///
/// Pure; tokens keep their order within a shard.
package struct RequestBatcher {
    /// Fields and rules that all records of one request have in common.
    package struct Plan: Equatable, Sendable {
        package var bundleID: String
        /// All fields but the tokens, which are empty.
        package var content: PushSendRequest
        /// The only token is the id of a channel, UTF-8.
        package var isBroadcast = false
        /// At least 1.
        package var spread: UInt32 = 1
        /// At least 1.
        package var tokensPerRecord = 500
        package var contentType = RecordContentType.protobuf

        package init(bundleID: String, content: PushSendRequest) {
            self.bundleID = bundleID
            self.content = content
        }
    }

    /// Most tokens that wait in all shards together, for a bundle that is spread over very many keys.
    package static let mostWaiting = 1 << 19

    /// Most bytes of a value that has more than one token: Kafka's limit counts the key, the headers and the frame of
    /// the batch, too.
    private static let limitBytes = RequestValue.limitBytes - 1024

    private let plan: Plan
    private let mostWaiting: Int
    /// Tokens that wait, by shard.
    private var waiting: [PackedTokens]
    private var waitingCount = 0
    /// Bytes that the waiting tokens take in a record at most, by shard.
    private var waitingBytes: [Int]
    /// Bytes that tokens may take in a record.
    private let tokensLimitBytes: Int
    /// The fields before and behind the tokens in the binary form.
    private let head: [UInt8]
    private let tail: [UInt8]

    package init(_ plan: Plan, mostWaiting: Int = RequestBatcher.mostWaiting) throws {
        precondition(plan.spread >= 1 && plan.tokensPerRecord >= 1, "checked by the caller")
        self.plan = plan
        self.mostWaiting = mostWaiting
        waiting = Array(repeating: PackedTokens(), count: Int(plan.spread))
        waitingBytes = Array(repeating: 0, count: Int(plan.spread))
        let (head, tail) = Self.parts(of: plan.content)
        self.head = try head.serializedBytes()
        self.tail = try tail.serializedBytes()
        tokensLimitBytes = Self.limitBytes - (try plan.contentType.encode(plan.content).count)
    }

    /// Adds a token; calls `emit` with the record that it fills, with the one into which it does not fit, and with all
    /// if too many tokens wait.
    ///
    /// - Parameter message: says the same token, which has values of its own; nil: it has none.
    package mutating func add(
        _ token: UnsafeRawBufferPointer,
        as message: PushDeviceToken? = nil,
        _ emit: (OutgoingRecord) throws -> Void
    ) throws {
        try add(token, as: message, to: shard(of: token), emit)
    }

    /// The number of the key that a token belongs to.
    func shard(of token: UnsafeRawBufferPointer) -> Int { Int(RecordKey.shard(of: token, spread: plan.spread)) }

    /// The same for a token whose ``shard(of:)`` is known.
    mutating func add(
        _ token: UnsafeRawBufferPointer,
        as message: PushDeviceToken? = nil,
        to shard: Int,
        _ emit: (OutgoingRecord) throws -> Void
    ) throws {
        let bytes =
            try message.map { try RecordRoom.bytes(of: $0, plan.contentType) }
            ?? RecordRoom.bytes(ofToken: token.count, plan.contentType)
        if waitingBytes[shard] + bytes > tokensLimitBytes, !waiting[shard].isEmpty { try emit(takeRecord(shard)) }
        waitingBytes[shard] += bytes
        waiting[shard].append(token, as: message)
        waitingCount += 1
        if waiting[shard].count == plan.tokensPerRecord { try emit(takeRecord(shard)) }
        if waitingCount >= mostWaiting { try flush(emit) }
    }

    /// Calls `emit` with the records of all tokens that wait.
    package mutating func flush(_ emit: (OutgoingRecord) throws -> Void) throws {
        guard waitingCount > 0 else { return }
        for shard in waiting.indices where !waiting[shard].isEmpty { try emit(takeRecord(shard)) }
    }

    /// Calls `emit` with every record for `tokens`, in order.
    package mutating func forEachRecord(of tokens: PackedTokens, _ emit: (OutgoingRecord) throws -> Void) throws {
        for index in 0..<tokens.count {
            try tokens.withToken(at: index) { try add($0, emit) }
        }
        try flush(emit)
    }

    private mutating func takeRecord(_ shard: Int) throws -> OutgoingRecord {
        let count = waiting[shard].count
        defer {
            waiting[shard].removeAll()
            waitingBytes[shard] = 0
            waitingCount -= count
        }
        let key = try RecordKey(bundleID: plan.bundleID, shard: plan.spread > 1 ? UInt32(shard) : nil)
        let type = plan.contentType
        return OutgoingRecord(
            key: key.description,
            value: try type == .json ? request(for: waiting[shard]).jsonUTF8Bytes() : binary(waiting[shard]),
            headers: type.headers,
            tokenCount: count,
            shard: shard
        )
    }

    private func binary(_ tokens: PackedTokens) throws -> [UInt8] {
        guard !plan.isBroadcast, let packed = tokens.packed else {
            return try request(for: tokens).serializedBytes()
        }
        var value: [UInt8] = []
        value.reserveCapacity(head.count + packed.count + tail.count + 6)
        value += head
        value.append(Self.packedTokensTag)
        ProtobufLength.append(packed.count, to: &value)
        value += packed
        value += tail
        return value
    }

    /// The fields with numbers below those of the tokens, and the others.
    private static func parts(of content: PushSendRequest) -> (head: PushSendRequest, tail: PushSendRequest) {
        var (head, tail) = (PushSendRequest(), content)
        swap(&head.requestID, &tail.requestID)
        swap(&head.environment, &tail.environment)
        switch content.content {
        case .payload, .payloadJson: swap(&head.content, &tail.content)
        case .notification, nil: break
        }
        return (head, tail)
    }

    /// Of the field `packed_tokens`, 6, which has a length.
    private static let packedTokensTag: UInt8 = 6 << 3 | 2

    private func request(for tokens: PackedTokens) -> PushSendRequest {
        var request = plan.content
        if plan.isBroadcast {
            request.channel = tokens.withToken(at: 0) { String(decoding: $0, as: UTF8.self) }
            return request
        }
        request.tokens = (0..<tokens.count).map { index in
            tokens.message(at: index) ?? tokens.withToken(at: index) { plan.contentType.message(of: $0) }
        }
        return request
    }
}
