/// The faults that are on, and the number of times each has struck. At most one of each name is on.
struct ArmedFaults: Sendable {
    /// A fault that is on.
    struct Entry: Sendable {
        let fault: Fault
        /// Number of strikes that are left; `nil` = without end.
        fileprivate(set) var left: Int?
        /// Since it was switched on.
        fileprivate(set) var strikes = 0
        /// Tells it from others of its name, before and after.
        let arming: Int
    }

    private var entries: [Fault.Name: Entry] = [:]
    private var armings = 0
    private var clearings: [Fault.Name: Int] = [:]

    /// Since the start, of each fault that was ever on.
    private(set) var strikes: [Fault.Name: Int] = [:]

    subscript(name: Fault.Name) -> Entry? { entries[name] }

    /// All that are on, by name.
    var listed: [Entry] {
        entries.values.sorted { $0.fault.name.rawValue < $1.fault.name.rawValue }
    }

    /// Switches a fault on; one of the same name is replaced.
    mutating func arm(_ fault: Fault) {
        armings += 1
        entries[fault.name] = Entry(fault: fault, left: fault.times, arming: armings)
        strikes[fault.name, default: 0] += 0
    }

    /// Switches one off, or (`nil`) all of them. What has struck stays counted.
    mutating func clear(_ name: Fault.Name?) {
        for name in name.map({ [$0] }) ?? Fault.Name.allCases {
            entries[name] = nil
            clearings[name, default: 0] += 1
        }
    }

    /// Number of times this fault was cleared, whether it was on or not. An effect that lasts longer than the strike
    /// that began it ends when this changes.
    func clearings(of name: Fault.Name) -> Int {
        clearings[name, default: 0]
    }

    /// Notes that a fault was carried out.
    ///
    /// - Returns: whether that was its last time, which switches it off.
    mutating func strike(_ name: Fault.Name) -> Bool {
        strikes[name, default: 0] += 1
        guard var entry = entries[name] else { return false }
        entry.strikes += 1
        entry.left = entry.left.map { $0 - 1 }
        let isLast = entry.left == 0
        entries[name] = isLast ? nil : entry
        return isLast
    }
}
