import PushSchemas

/// Device tokens in memory, packed.
package struct PackedTokens: Equatable, Sendable {
    private var bytes: [UInt8] = []
    /// End of each token in `bytes`.
    private var ends: [Int] = []
    /// By index: messages of tokens with values of their own.
    private var messages: [Int: PushDeviceToken] = [:]
    private var arePackable = true

    package init() {}

    package var count: Int { ends.count }
    package var isEmpty: Bool { ends.isEmpty }

    /// The token at `index`, valid during the call of `body`.
    package func withToken<R>(at index: Int, _ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
        let start = index == 0 ? 0 : ends[index - 1]
        return try bytes.withUnsafeBytes { try body(UnsafeRawBufferPointer(rebasing: $0[start..<ends[index]])) }
    }

    /// The message of the token at `index`; nil: it has no values of its own.
    func message(at index: Int) -> PushDeviceToken? { messages[index] }

    package mutating func append(_ token: [UInt8]) {
        token.withUnsafeBytes { append($0) }
    }

    /// - Parameter message: says the same token, which has values of its own; nil: it has none.
    package mutating func append(_ token: UnsafeRawBufferPointer, as message: PushDeviceToken? = nil) {
        if let message { messages[count] = message }
        bytes.append(contentsOf: token)
        ends.append(bytes.count)
        if message != nil || token.count != SendRequestView.packedTokenBytes { arePackable = false }
    }

    /// Keeps the memory for others.
    package mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        ends.removeAll(keepingCapacity: true)
        if !messages.isEmpty { messages = [:] }
        arePackable = true
    }

    /// All tokens end to end; nil: some have another length than packed tokens, or values of their own.
    package var packed: [UInt8]? { arePackable ? bytes : nil }
}
