/// A cluster node's refusal to run a command; another try may succeed. The command has definitely not run.
///
/// Source: Redis Cluster specification, "Redirection and resharding".
enum ClusterRefusal: Equatable {
    /// The slot belongs to that node, for this command and all later ones.
    case moved(RedisSlot, to: RedisAddress)
    /// The slot is being moved to that node: this one command is to be sent there, after ASKING; later ones as before.
    case ask(RedisAddress)
    /// No node can run the command at the moment. `mapIsDoubtful`: the map of slots may be wrong and is to be asked
    /// for.
    case later(mapIsDoubtful: Bool)

    /// - Parameter asked: the node that gave the answer.
    /// - Returns: nil for every other error: the command has run, or never will.
    init?(_ error: RedisError, asked: RedisAddress) {
        guard case .server(let prefix, let message) = error else { return nil }
        switch prefix {
        case "MOVED":
            guard let (slot, node) = Self.target(message, asked: asked) else { return nil }
            self = .moved(slot, to: node)
        case "ASK":
            guard let (_, node) = Self.target(message, asked: asked) else { return nil }
            self = .ask(node)
        case "TRYAGAIN", "LOADING":
            // Some keys of the command are here, others still at the slot's former node; or the node has just started.
            self = .later(mapIsDoubtful: false)
        case "CLUSTERDOWN", "MASTERDOWN", "READONLY":
            self = .later(mapIsDoubtful: true)
        default:
            return nil
        }
    }

    private static func target(_ message: String, asked: RedisAddress) -> (RedisSlot, RedisAddress)? {
        let words = message.split(separator: " ")
        guard words.count >= 2, let number = UInt16(words[0]), number < RedisSlot.count,
            let node = RedisAddress(words[1], asked: asked)
        else { return nil }
        return (RedisSlot(number: number), node)
    }
}
