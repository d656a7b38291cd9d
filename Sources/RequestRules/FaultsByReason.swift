import PushSchemas

/// Faults of a request, one for each reason, in the order of their first occurrence. Pure.
package struct FaultsByReason {
    private var found: [(refusal: RecordRefusal, tokens: [Int])] = []

    package init() {}

    /// Adds a fault of these tokens; the detail of the first one of a reason stays.
    ///
    /// - Parameter tokens: empty: the whole record has it.
    package mutating func add(_ refusal: RecordRefusal, _ tokens: [Int]) { add(refusal.reason, refusal, tokens) }

    /// The same for a fault of which only the first of a reason is put into words.
    package mutating func add(_ reason: String, _ refusal: @autoclosure () -> RecordRefusal, _ tokens: [Int]) {
        guard let index = found.firstIndex(where: { $0.refusal.reason == reason }) else {
            return found.append((refusal(), tokens))
        }
        found[index].tokens += tokens
    }

    /// Tokens in ascending order.
    package var faults: [RequestFault] { found.map { RequestFault($0.refusal, tokens: $0.tokens.sorted()) } }
}
