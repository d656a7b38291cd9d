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
        let tokens: [Token]
        do throws(RecordError) {
            tokens = try Self.tokens(of: request)
        } catch {
            throw .refused([RequestFault(RecordRefusal(error))])
        }
        var content = request
        content.tokens = []
        content.packedTokens = Data()
        content.channel = ""
        var plan = RequestBatcher.Plan(bundleID: bundle.id, content: content)
        plan.isBroadcast = !request.channel.isEmpty
        plan.spread = UInt32(bundle.spread)
        plan.tokensPerRecord = bundle.tokensPerRecord
        // Tokens keep their order within a shard.
        var indices: [[Int]] = Array(repeating: [], count: bundle.spread)
        var records: [Record] = []
        var taken = [Int](repeating: 0, count: bundle.spread)
        func take(_ record: OutgoingRecord) throws {
            let key = try Array(record.key.utf8).withUnsafeBytes { try RecordKeyView(parsing: $0).shard }
            let shard = Int(key ?? 0)
            let end = taken[shard] + record.tokenCount
            records.append(Record(record: record, tokens: Array(indices[shard][taken[shard]..<end])))
            taken[shard] = end
        }
        do {
            var batcher = try RequestBatcher(plan)
            for (index, token) in tokens.enumerated() {
                try token.bytes.withUnsafeBytes { bytes in
                    indices[Int(RecordKey.shard(of: bytes, spread: plan.spread))].append(index)
                    if let message = token.message {
                        try batcher.add(bytes, message, take)
                    } else {
                        try batcher.add(bytes, take)
                    }
                }
            }
            try batcher.flush(take)
        } catch {
            let refusal = RecordRefusal(reason: RecordFault.valueUndecodable.rawValue, detail: "\(error)")
            throw .refused([RequestFault(refusal)])
        }
        try Self.check(records, by: bundle.validator)
        self.records = records
    }

    private struct Token {
        let bytes: [UInt8]
        /// Nil: it has no values of its own.
        var message: PushDeviceToken?
    }

    private static func tokens(of request: PushSendRequest) throws(RecordError) -> [Token] {
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
        if !request.channel.isEmpty { return [Token(bytes: Array(request.channel.utf8))] }
        if !request.packedTokens.isEmpty {
            let packed = [UInt8](request.packedTokens)
            let size = SendRequestView.packedTokenBytes
            guard packed.count.isMultiple(of: size) else {
                throw RecordError(
                    .packedTokensLength,
                    "the length of 'packed_tokens' in bytes is \(packed.count); a multiple of 32 is allowed"
                )
            }
            return stride(from: 0, to: packed.count, by: size).map { Token(bytes: Array(packed[$0..<$0 + size])) }
        }
        var tokens: [Token] = []
        tokens.reserveCapacity(request.tokens.count)
        for message in request.tokens {
            let hasOwn = message.hasBadge || !message.locale.isEmpty || !message.locArgs.isEmpty
            tokens.append(Token(bytes: try message.bytes(), message: hasOwn ? message : nil))
        }
        return tokens
    }

    /// - Throws: ``ProducerError/refused(_:)`` with one fault for each reason.
    private static func check(_ records: [Record], by validator: RequestValidator) throws(ProducerError) {
        var faults: [(refusal: RecordRefusal, tokens: [Int])] = []
        for record in records {
            for fault in record.record.faults(by: validator) {
                let tokens = fault.tokens.map { record.tokens[$0] }
                if let index = faults.firstIndex(where: { $0.refusal.reason == fault.refusal.reason }) {
                    faults[index].tokens += tokens
                } else {
                    faults.append((fault.refusal, tokens))
                }
            }
        }
        guard !faults.isEmpty else { return }
        throw .refused(faults.map { RequestFault($0.refusal, tokens: $0.tokens.sorted()) })
    }
}
