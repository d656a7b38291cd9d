/// The nodes of a Redis Cluster, as each tells of itself. Pure.
///
/// Source: Redis documentation, CLUSTER NODES: `<id> <ip:port@bus> <flags> <master> <ping> <pong> <epoch> <link>
/// <slots>…`.
struct ClusterView: Equatable {
    struct Node: Equatable {
        var identifier: String
        var port: Int
        /// Nil: it is a master itself.
        var master: String?
        /// Slots that it serves.
        var slots: [ClosedRange<Int>] = []
    }

    private(set) var nodes: [Node] = []

    /// - Parameter answers: of CLUSTER NODES, one of each node. Of each only the line counts that the node writes about
    ///   itself: no other node knows that sooner. An answer without such a line is of a node that is away.
    init(_ answers: [String]) {
        nodes = answers.compactMap { answer in
            answer.split(whereSeparator: \.isNewline).lazy.compactMap { Node(own: $0) }.first
        }
    }

    /// The nodes that serve slots, by port.
    var masters: [Node] {
        nodes.filter { $0.master == nil && !$0.slots.isEmpty }.sorted { $0.port < $1.port }
    }

    func master(ofSlot slot: Int) -> Node? {
        masters.first { $0.slots.contains { $0.contains(slot) } }
    }

    /// A node that replicates a master; nil: none does.
    func replica(of master: Node) -> Node? {
        nodes.first { $0.master == master.identifier }
    }
}

extension ClusterView.Node {
    /// Nil: the line tells of another node, or is none.
    fileprivate init?(own line: Substring) {
        let words = line.split(separator: " ")
        guard words.count >= 8 else { return nil }
        let flags = words[2].split(separator: ",")
        guard flags.contains("myself"), let port = Self.port(of: words[1]) else { return nil }
        identifier = String(words[0])
        self.port = port
        master = words[3] == "-" ? nil : String(words[3])
        // One that moves stands there again, in brackets.
        slots = words.dropFirst(8).filter { !$0.hasPrefix("[") }.compactMap { word in
            let ends = word.split(separator: "-").compactMap { Int($0) }
            return ends.isEmpty ? nil : ends[0]...ends[ends.count - 1]
        }
    }

    private static func port(of address: Substring) -> Int? {
        address.split(separator: "@").first?.split(separator: ":").last.flatMap { Int($0) }
    }
}
