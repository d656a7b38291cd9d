/// The inputs that fuzzing starts from: each shows one thing, so that mutations have something to mix. They are written
/// by `belfry-fuzz seeds` and committed in Tests/Fuzz/Corpus, together with what fuzzing has found since.
public enum Seeds {
    public struct Seed: Sendable {
        /// The file's name.
        public let name: String
        public let bytes: [UInt8]
    }

    /// All of them, in a fixed order.
    public static func all(of target: FuzzTarget) -> [Seed] {
        switch target {
        case .gateway: gateway
        case .feedback: feedback
        case .courier: courier
        case .api: api + channelSeeds
        case .client: client
        case .record: record
        }
    }

    /// An input of any target, see ``FuzzInput``.
    static func seed(_ name: String, settings: UInt8 = 0, chunks: [UInt8] = [], _ stream: [UInt8]) -> Seed {
        Seed(name: "seed-\(name)", bytes: [settings, UInt8(chunks.count)] + chunks + stream)
    }

    static func sized(_ bytes: [UInt8]) -> [UInt8] {
        [UInt8(bytes.count >> 8), UInt8(bytes.count & 0xFF)] + bytes
    }

    // MARK: Feedback

    private static func tuple(_ tokenBytes: Int) -> [UInt8] {
        [0x5E, 0, 0, 1] + sized([UInt8](repeating: 0xAB, count: tokenBytes))
    }

    private static let feedback = [
        seed("empty", []),
        seed("one", tuple(32)),
        seed("several", chunks: [1, 7, 40], tuple(32) + tuple(32) + tuple(32)),
        seed("lengths", chunks: [3], tuple(0) + tuple(1) + tuple(100) + tuple(32)),
        seed("cut-header", Array(tuple(32).prefix(5))),
        seed("cut-token", chunks: [6, 6], Array((tuple(32) + tuple(32)).dropLast())),
        seed("longest-announced", [0, 0, 0, 0, 0xFF, 0xFF, 1, 2, 3]),
    ]
}
