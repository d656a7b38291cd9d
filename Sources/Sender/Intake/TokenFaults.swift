import PipelineCore
import PushSchemas

/// The tokens of one record that cannot be used, by reason: each reason becomes one dead letter.
struct TokenFaults {
    /// Faults in the order of their first occurrence.
    private(set) var found: [(fault: RecordRefusal, tokens: TokenRuns)] = []

    /// - Parameter position: above those of the tokens added before.
    mutating func add(_ fault: RecordRefusal, at position: UInt32) { add(fault.reason, fault, at: position) }

    /// The same for a fault of which only the first of a reason is put into words.
    mutating func add(_ reason: String, _ fault: @autoclosure () -> RecordRefusal, at position: UInt32) {
        guard let index = found.firstIndex(where: { $0.fault.reason == reason }) else {
            var tokens = TokenRuns()
            tokens.append(position)
            return found.append((fault(), tokens))
        }
        found[index].tokens.append(position)
    }
}
