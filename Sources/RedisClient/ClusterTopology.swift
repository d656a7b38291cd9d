/// The known masters of the slots. A single server is a cluster of one node that serves all.
struct ClusterTopology: Equatable {
    /// One line of the map: the slots from the first to the last number belong to a master.
    struct Range: Equatable {
        var slots: ClosedRange<UInt16>
        var master: RedisAddress
        var replicas: [RedisAddress] = []
    }

    /// The masters, in the order of their first mention in the map.
    private(set) var masters: [RedisAddress] = []
    /// The replicas. Not used for commands; asked for the map if no master answers.
    private(set) var replicas: [RedisAddress] = []

    /// The position in `masters` of each slot's master, or `nobody`. Empty until the map is known.
    private var owners: [UInt16] = []
    private static let nobody = UInt16.max

    /// A map, or a part of one, is known.
    var isKnown: Bool { !owners.isEmpty }

    /// Every slot has a master.
    var isComplete: Bool { isKnown && !owners.contains(Self.nobody) }

    /// The position in ``masters`` of the slot's master; nil: none is known.
    @inline(__always)
    func owner(of slot: RedisSlot) -> Int? {
        guard !owners.isEmpty else { return nil }
        let owner = owners[Int(slot.number)]
        return owner == Self.nobody ? nil : Int(owner)
    }

    /// Takes a whole map. Where ranges overlap, the last one counts.
    mutating func replace(by ranges: [Range]) {
        var masters: [RedisAddress] = []
        var replicas: [RedisAddress] = []
        var positions: [RedisAddress: UInt16] = [:]
        var owners = [UInt16](repeating: Self.nobody, count: RedisSlot.count)
        for range in ranges {
            let position = positions[range.master] ?? UInt16(masters.count)
            if positions.updateValue(position, forKey: range.master) == nil { masters.append(range.master) }
            for slot in range.slots { owners[Int(slot)] = position }
            for replica in range.replicas where !replicas.contains(replica) { replicas.append(replica) }
        }
        self.masters = masters
        self.replicas = replicas
        self.owners = owners
    }

    /// Moves a slot to another master, as told by a node. Returns true if that is news.
    mutating func move(_ slot: RedisSlot, to master: RedisAddress) -> Bool {
        if owners.isEmpty { owners = [UInt16](repeating: Self.nobody, count: RedisSlot.count) }
        let position: Int
        if let known = masters.firstIndex(of: master) {
            position = known
        } else {
            position = masters.count
            masters.append(master)
        }
        guard owners[Int(slot.number)] != UInt16(position) else { return false }
        owners[Int(slot.number)] = UInt16(position)
        return true
    }
}

extension ClusterTopology.Range {
    /// The map of a single server: all slots belong to it.
    static func all(_ master: RedisAddress) -> Self {
        .init(slots: 0...UInt16(RedisSlot.count - 1), master: master)
    }

    /// Reads the answer to CLUSTER SLOTS. Nodes whose address is unknown to the node asked (`?`, or no port) are left
    /// out, and so are the slots of such a master.
    ///
    /// Source: Redis documentation, CLUSTER SLOTS: `[first, last, [host, port, id, …], replicas…]`; an empty or null
    /// host is that of the node asked.
    ///
    /// - Throws: ``ClusterMapError`` if the answer does not have that form, or names no slot at all.
    static func read(_ reply: RedisReply, asked: RedisAddress) throws(ClusterMapError) -> [Self] {
        guard reply.kind == .array else { throw .malformed("no array") }
        var ranges: [Self] = []
        for index in 0..<reply.count {
            let line = reply[index]
            guard line.kind == .array, line.count >= 3, let first = line[0].integer, let last = line[1].integer,
                first >= 0, first <= last, last < Int64(RedisSlot.count)
            else { throw .malformed("line \(index) has no slots and nodes") }
            let nodes = try (2..<line.count).map { position throws(ClusterMapError) in
                try node(line[position], asked: asked)
            }
            guard let master = nodes[0] else { continue }
            ranges.append(
                Self(
                    slots: UInt16(first)...UInt16(last),
                    master: master,
                    replicas: nodes.dropFirst().compactMap(\.self)
                )
            )
        }
        if ranges.isEmpty { throw .empty }
        return ranges
    }

    private static func node(_ reply: RedisReply, asked: RedisAddress) throws(ClusterMapError) -> RedisAddress? {
        guard reply.kind == .array, reply.count >= 2, let port = reply[1].integer, (0...65_535).contains(port),
            reply[0].isNull || reply[0].kind == .string
        else { throw .malformed("a node has no address") }
        let host = reply[0].string ?? ""
        guard host != "?", port > 0 else { return nil }
        return RedisAddress(host: host.isEmpty ? asked.host : host, port: Int(port))
    }
}

/// The reason why an answer to CLUSTER SLOTS is useless.
enum ClusterMapError: Error, Equatable, CustomStringConvertible {
    case malformed(String)
    /// No slot is assigned yet, or the node knows no others.
    case empty

    var description: String {
        switch self {
        case .malformed(let detail): "the map of slots is malformed: \(detail)"
        case .empty: "the map names no slots"
        }
    }
}
