/// What a node of a cluster says when it did not run a command, and another try may succeed. The command has definitely
/// not run.
///
/// Source: Redis Cluster specification, "Redirection and resharding".
enum ClusterRefusal: Equatable {
    /// The slot belongs to that node, for this command and all later ones.
    case moved(RedisSlot, to: RedisAddress)
    /// The slot is on its way to that node: this one command is to be sent there, after ASKING; later ones as before.
    case ask(RedisAddress)
    /// Nobody can run it at the moment. Whether the map of slots may be at fault: with `true` it is to be asked for.
    case later(mapIsDoubtful: Bool)

    /// - Parameter asked: the node that answered so.
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
            // Some keys of the command are here, others are still where the slot comes from; or the node has just begun.
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
