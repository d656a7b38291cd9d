/// A topic's acceptances, in order. The last ones, up to a bounded number; 8 bytes each.
struct AcceptedLog: Sendable {
    /// One that was accepted.
    struct Entry: Sendable, Equatable {
        let instance: AppInstance
        /// See ``PayloadMark``.
        let mark: UInt32
    }

    /// Number of acceptances that are remembered at most.
    let limit: Int

    /// Number of acceptances so far.
    private(set) var total = 0

    /// 24 bits of device, 8 of generation, 32 of mark. Empty until the first one.
    private var ring: [UInt64] = []
    /// Index of the next entry in the ring.
    private var head = 0

    /// - Parameter limit: at least 1; traps otherwise.
    init(limit: Int) {
        precondition(limit > 0, "a log without room")
        self.limit = limit
    }

    /// Number of acceptances that are remembered.
    var count: Int { min(total, limit) }

    /// Number of acceptances that had to make room.
    var forgotten: Int { total - count }

    @inline(__always)
    mutating func append(_ instance: AppInstance, mark: UInt32) {
        if ring.isEmpty { ring = .unwritten(count: limit) }
        ring[head] = UInt64(instance.device) << 40 | UInt64(instance.generation) << 32 | UInt64(mark)
        head = head + 1 == limit ? 0 : head + 1
        total += 1
    }

    /// The acceptances of a device, in order, as far as they are remembered. With a generation, only those under the
    /// token of that one.
    func entries(device: UInt32, generation: UInt8?) -> [Entry] {
        var entries: [Entry] = []
        let start = total > limit ? head : 0
        for step in 0..<count {
            let word = ring[(start + step) % limit]
            guard word >> 40 == UInt64(device) else { continue }
            let entry = Entry(
                instance: AppInstance(device: device, generation: UInt8(truncatingIfNeeded: word >> 32)),
                mark: UInt32(truncatingIfNeeded: word)
            )
            if generation == nil || generation == entry.instance.generation { entries.append(entry) }
        }
        return entries
    }
}
