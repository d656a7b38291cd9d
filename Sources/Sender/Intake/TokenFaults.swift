import BelfrySupport
import PipelineCore
import PushSchemas
import PushTopics

/// The tokens of one record that cannot be used, by reason: each reason becomes one dead letter.
struct TokenFaults {
    /// Faults in the order of their first occurrence.
    private(set) var found: [(fault: RecordRefusal, tokens: TokenRuns)] = []

    /// - Parameter position: above those of the tokens added before.
    mutating func add(_ fault: RecordRefusal, at position: UInt32) {
        guard let index = found.firstIndex(where: { $0.fault.reason == fault.reason }) else {
            var tokens = TokenRuns()
            tokens.append(position)
            return found.append((fault, tokens))
        }
        found[index].tokens.append(position)
    }

    /// The fault of one token of a request; nil: the token can be used.
    ///
    /// - Parameters:
    ///   - checksum: CRC-32 of the token.
    ///   - shard: the shard that the record's key names.
    static func fault(of token: TokenView, checksum: UInt32, _ topic: Topic, shard: UInt32?) -> RecordRefusal? {
        if let fault = token.fault {
            return RecordRefusal(reason: fault.rawValue, detail: "the token is empty or not hexadecimal")
        }
        guard topic.tokenBytes.contains(token.bytes.count) else {
            return RecordRefusal(
                reason: "token-length",
                detail: "a token of \(counted(token.bytes.count, "byte")); allowed: \(topic.tokenBytes.allowedText)"
            )
        }
        return shardFault(of: "token", checksum: checksum, topic, shard: shard)
    }

    /// The fault of a token or channel that does not belong under its record's key; nil: it does.
    ///
    /// - Parameter name: of what it is, for people.
    static func shardFault(of name: String, checksum: UInt32, _ topic: Topic, shard: UInt32?) -> RecordRefusal? {
        guard let spread = topic.spread else { return nil }
        let expected = spread > 1 ? checksum % spread : nil
        guard shard == expected else {
            return RecordRefusal(
                reason: "token-outside-shard",
                detail: "the \(name) belongs under the key's shard \(expected.map(String.init) ?? "(none)"), "
                    + "the bundle's spread being \(spread)"
            )
        }
        return nil
    }
}
