/// Finds the notifications of a partition in a queue, so that a revocation looks at what leaves and at nothing else.
///
/// The entries of an assignment are linked in the order of arrival; the latest stands here.
struct AssignmentChains {
    private var latest = ByAssignment<Int32>()

    /// The slot of an assignment's latest entry.
    mutating func latest(of assignment: UInt32) -> Int32 { latest[assignment] ?? StreamEntry.none }

    /// Appends a new entry to the chain of its assignment.
    mutating func append(_ slot: Int, in slab: borrowing StreamSlab) {
        let entries = slab.entries
        let link = Int32(truncatingIfNeeded: slot)
        let assignment = entries[slot].reference.assignment
        let former = latest(of: assignment)
        entries[slot].earlier = former
        entries[slot].later = StreamEntry.none
        if former != StreamEntry.none { entries[Int(former)].later = link }
        latest[assignment] = link
    }

    /// Takes an entry out of its chain.
    mutating func remove(_ slot: Int, in slab: borrowing StreamSlab) {
        let entries = slab.entries
        let (earlier, later) = (entries[slot].earlier, entries[slot].later)
        if earlier != StreamEntry.none { entries[Int(earlier)].later = later }
        if later != StreamEntry.none {
            entries[Int(later)].earlier = earlier
        } else {
            latest[entries[slot].reference.assignment] = earlier == StreamEntry.none ? nil : earlier
        }
    }
}
