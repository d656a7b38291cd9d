import Foundation
import PushSchemas
import RequestRules

/// A request cut into the records of its bundle's keys, checked. Pure.
struct CutRequest: Sendable {
    struct Record: Sendable {
        let record: OutgoingRecord
        /// Indices in the request.
        let tokens: [Int]
    }

    let records: [Record]

    /// - Parameter request: with its tokens, or its channel.
    /// - Throws: ``ProducerError/refused(_:)``, ``ProducerError/misconfigured(_:)``
    init(_ request: PushSendRequest, to bundle: PushBundle) throws(ProducerError) {
        try bundle.check()
        var content = request
        content.tokens = []
        content.packedTokens = Data()
        content.channel = ""
        var plan = RequestBatcher.Plan(bundleID: bundle.id, content: content)
        plan.isBroadcast = !request.channel.isEmpty
        plan.spread = UInt32(bundle.spread)
        plan.tokensPerRecord = bundle.tokensPerRecord
        // Of tokens that wait, by shard. They keep their order.
        var indices: [[Int]] = Array(repeating: [], count: bundle.spread)
        var count = 0
        var records: [Record] = []
        func takeRecord(_ record: OutgoingRecord) {
            records.append(Record(record: record, tokens: Array(indices[record.shard].prefix(record.tokenCount))))
            indices[record.shard].removeFirst(record.tokenCount)
        }
        do {
            var batcher = try RequestBatcher(plan)
            try Self.forEachToken(of: request) { bytes, message in
                let shard = batcher.shard(of: bytes)
                indices[shard].append(count)
                count += 1
                try batcher.add(bytes, as: message, to: shard, takeRecord)
            }
            try batcher.flush(takeRecord)
        } catch let error as RecordError {
            throw .refused([RequestFault(RecordRefusal(error))])
        } catch {
            let refusal = RecordRefusal(reason: RecordFault.valueUndecodable.rawValue, detail: "\(error)")
            throw .refused([RequestFault(refusal)])
        }
        try Self.check(records, by: bundle.validator)
        self.records = records
    }

    /// Calls `body` with every token, in order; its bytes are valid during the call.
    ///
    /// - Parameter body: the message is nil for a token without values of its own.
    /// - Throws: `RecordError`, and the errors of `body`.
    private static func forEachToken(
        of request: PushSendRequest,
        _ body: (_ bytes: UnsafeRawBufferPointer, _ message: PushDeviceToken?) throws -> Void
    ) throws {
        let kinds = [!request.tokens.isEmpty, !request.packedTokens.isEmpty, !request.channel.isEmpty].count { $0 }
        guard kinds <= 1 else {
            throw RecordError(
                .tokensAmbiguous,
                "more than one of 'tokens', 'packed_tokens' and 'channel' is set; one is allowed"
            )
        }
        guard kinds == 1 else {
            throw RecordError(.tokensMissing, "the request carries neither a token nor a channel")
        }
        if !request.channel.isEmpty { return try Array(request.channel.utf8).withUnsafeBytes { try body($0, nil) } }
        let size = SendRequestView.packedTokenBytes
        guard request.packedTokens.count.isMultiple(of: size) else {
            throw RecordError(
                .packedTokensLength,
                "the length of 'packed_tokens' in bytes is \(request.packedTokens.count); a multiple of 32 is allowed"
            )
        }
        try request.packedTokens.withUnsafeBytes { packed in
            for start in stride(from: 0, to: packed.count, by: size) {
                try body(UnsafeRawBufferPointer(rebasing: packed[start..<start + size]), nil)
            }
        }
        for message in request.tokens {
            let hasOwn = message.hasBadge || !message.locale.isEmpty || !message.locArgs.isEmpty
            try message.bytes().withUnsafeBytes { try body($0, hasOwn ? message : nil) }
        }
    }

    /// - Throws: ``ProducerError/refused(_:)`` with one fault for each reason.
    private static func check(_ records: [Record], by validator: RequestValidator) throws(ProducerError) {
        var found = FaultsByReason()
        for record in records {
            for fault in record.record.faults(by: validator) {
                found.add(fault.refusal, fault.tokens.map { record.tokens[$0] })
            }
        }
        guard found.faults.isEmpty else { throw .refused(found.faults) }
    }
}
