import LocalPipeline

/// The records that workers moved out of the urgent lane, because they were over the quota of their app: copies in the
/// log of the normal lane.
///
/// A copy is no record of the run's own, but stands for the one that was published: its outcomes are those of that one.
/// After a crash there may be several copies of one record.
struct MovedRecords: Sendable {
    struct Copy: Equatable, Sendable {
        let number: UInt32
        let place: RequestPlace
        /// The place of the published record, by the copy's word.
        let origin: RequestPlace
        /// Among the copies of the record, from 1.
        let index: UInt8
        /// Of its tokens among the outcomes: at the copy's place, and at that of the published record.
        let firstBit: Int
        let originBit: Int
        /// Tokens without an outcome at the copy's place.
        fileprivate(set) var open: Int
        /// Nil: so far it is known by outcomes alone.
        fileprivate(set) var times: Times?
        /// Each of its tokens is to have an outcome at its place.
        fileprivate(set) var isDue = false
    }

    /// UNIX seconds.
    struct Times: Equatable, Sendable {
        /// The worker handed it to its producer.
        var created: UInt32
        /// It was met in the log.
        var met: UInt32
    }

    /// In the order in which they were met.
    private(set) var copies: [Copy] = []
    private var byPlace: [RequestPlace: Int] = [:]
    /// By number of the record.
    private var byNumber: [UInt32: [Int]] = [:]
    /// Records that had an outcome as urgent ones.
    private var sentAsUrgent: Set<UInt32> = []
    /// Tokens of copies that are due, without an outcome at the copy's place.
    private(set) var openDue = 0

    /// The copy at a place.
    subscript(place: RequestPlace) -> Copy? { byPlace[place].map { copies[$0] } }

    /// Copies that stand in the log, with their times.
    var inLog: [(copy: Copy, times: Times)] {
        copies.compactMap { copy in copy.times.map { (copy: copy, times: $0) } }
    }

    /// Number of records that were moved, each once.
    var count: Int { byNumber.count }

    var isEmpty: Bool { copies.isEmpty }

    func contains(_ number: UInt32) -> Bool { byNumber[number] != nil }

    /// The only place from which a record can have been sent, if that is a copy; nil: it is not known.
    func onlyCopy(of number: UInt32) -> Copy? {
        guard let its = byNumber[number], its.count == 1, !sentAsUrgent.contains(number) else { return nil }
        return copies[its[0]]
    }

    // MARK: Entering

    /// A copy was met in the log, or an outcome of it.
    ///
    /// - Parameters:
    ///   - count: of its tokens.
    ///   - bits: the first of its tokens among the outcomes, at its place and at that of the published record.
    /// - Returns: false: another record was moved to the place, or this one from elsewhere.
    mutating func enter(
        _ number: UInt32,
        at place: RequestPlace,
        from origin: RequestPlace,
        count: Int,
        bits: (own: Int, origin: Int)
    ) -> Bool {
        if let known = self[place] { return known.number == number && known.origin == origin }
        byPlace[place] = copies.count
        byNumber[number, default: []].append(copies.count)
        copies.append(
            Copy(
                number: number,
                place: place,
                origin: origin,
                index: UInt8(clamping: byNumber[number]?.count ?? 1),
                firstBit: bits.own,
                originBit: bits.origin,
                open: count
            )
        )
        return true
    }

    /// A copy that was entered stands in the log; once for each.
    mutating func noteRecord(at place: RequestPlace, _ times: Times, isDue: Bool) {
        guard let index = byPlace[place] else { return }
        copies[index].times = times
        copies[index].isDue = isDue
        if isDue { openDue += copies[index].open }
    }

    /// A token of a copy that was entered has its outcome at the copy's place; once for each.
    mutating func noteOutcome(at place: RequestPlace) {
        guard let index = byPlace[place] else { return }
        copies[index].open -= 1
        if copies[index].isDue { openDue -= 1 }
    }

    /// A record had an outcome as an urgent one: it was sent, be it moved before or later.
    mutating func noteSent(_ number: UInt32) { sentAsUrgent.insert(number) }
}
