import PipelineCore

/// The tokens of a topic that were accepted lately, remembered while some are refused.
///
/// It distinguishes newcomers from other tokens, and takes a megabyte, which counts towards the shard's memory. So it
/// is made when a token is accepted after one was refused, and its owner ends it when none has been refused for long.
/// Without room there is none: it is a hint only. Bound to the shard's event loop.
final class AcceptedMemory {
    /// Nil: nothing is remembered.
    var tokens: AcceptedTokens?
    /// A token was refused since the memory last ended.
    private(set) var hasRefused = false
    private let indexBits: Int
    private let memory: ShardMemory

    /// - Parameters:
    ///   - indexBits: see ``AcceptedTokens/init(indexBits:)``.
    ///   - memory: of the shard.
    init(indexBits: Int, memory: ShardMemory) {
        self.indexBits = indexBits
        self.memory = memory
    }

    /// Memory taken; nil: there is none.
    var bytes: Int? { tokens?.bytes }

    func contains(checksum: UInt32) -> Bool { tokens?.contains(checksum: checksum) ?? false }

    func noteRefusal() { hasRefused = true }

    /// The gateway accepts tokens, which can be added if there is room to remember them.
    func noteAcceptance() {
        guard hasRefused, tokens == nil else { return }
        let bytes = AcceptedTokens.bytes(indexBits: indexBits)
        guard memory.budget.admits(topicBytes: bytes) else { return }
        memory.takeBytes(bytes)
        tokens = AcceptedTokens(indexBits: indexBits)
    }

    /// Gives the memory back, until a token is accepted after another was refused.
    func end() {
        hasRefused = false
        guard let bytes else { return }
        tokens = nil
        memory.giveBack(bytes)
    }
}
