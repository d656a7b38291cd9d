/// Works out what invariant 3 allows to be repeated, and finds what goes beyond.
///
/// A notification is sent again for one of two reasons:
/// - It has had no outcome since it was sent last: its connection was cut, or the worker that sent it has ended.
/// - Another worker has begun with the partition, from a commit that did not know of the outcome yet. The outcome, or
///   that of an older notification of the topic in the partition, which held the cursor, came so late then that no time
///   was left for a commit: at most ``Bounds/reachSeconds`` before the former owner's end.
///
/// A repetition without either is beyond what is allowed. So a worker that stops committing is found out when it has
/// had a partition for longer than that and ends; one that sends what it knows to be done is found out at once.
///
/// Pure. Outcomes and acceptances are told in order of time, up to ``Bounds/delaySeconds``. Memory: 8 bytes for each
/// notification and some 40 for each record.
struct RepeatAudit {
    struct Bounds: Equatable, Sendable {
        /// Seconds that a notification may lie in sockets and in the sandbox before it is accepted; the log of
        /// acceptances counts in whole seconds.
        var delaySeconds: UInt32
        /// Longest time from an outcome to the commit that says so: between two commits, and for which one may stay
        /// unanswered.
        var reachSeconds: UInt32
    }

    /// A record in the log of its lane, or a copy of one that was moved out of its lane.
    struct Entry: Equatable, Sendable {
        /// From 1.
        var number: UInt32
        var topic: Int
        var partition: RequestPartition
        /// Notifications.
        var count: Int
        /// See ``MovedRecords/Copy/index``; 0: the published record.
        var copy: UInt8 = 0
        /// Of a copy: the partition of the published record, whose former owner may have sent that one. Else nil.
        var origin: RequestPartition?
        /// The record's notifications were sent from here alone. Else it holds the cursor, and nothing more is known.
        var isSender = true
    }

    /// The records of one topic in one partition, in the order of the log.
    private struct Line {
        let partition: RequestPartition
        /// By place: notifications that never had an outcome.
        var open: [Int] = []
        /// The first place with any.
        var firstOpen = 0
        /// By place: when something of the record had its last outcome, UNIX seconds.
        var lastOutcome = PrefixMaximum(count: 0)
    }

    private struct Place {
        var line: Int
        var index: Int
        var firstBit: Int
        var count: Int
        /// See ``Entry/origin``.
        var origin: RequestPartition?
    }

    private let bounds: Bounds
    private let ends: OwnershipEnds
    private var lines: [Line] = []
    /// By number, of the entries from which records were sent.
    private var places: [UInt32: Place] = [:]
    /// The others, by number and copy.
    private var others: [UInt64: Place] = [:]
    /// By notification, UNIX seconds; 0: never.
    private var acceptedAt: [UInt32]
    private var settledAt: [UInt32]

    /// - Parameter log: each record and copy once, those of a partition in order of their offsets.
    init(_ bounds: Bounds, ends: OwnershipEnds, log: [Entry]) {
        self.bounds = bounds
        self.ends = ends
        var numbers: [RequestPartition: [Int: Int]] = [:]
        var bits = 0
        for entry in log {
            let line = numbers[entry.partition]?[entry.topic] ?? lines.count
            if line == lines.count { lines.append(Line(partition: entry.partition)) }
            numbers[entry.partition, default: [:]][entry.topic] = line
            let place = Place(
                line: line,
                index: lines[line].open.count,
                firstBit: bits,
                count: entry.count,
                origin: entry.origin
            )
            if entry.isSender {
                places[entry.number] = place
            } else {
                others[Self.key(entry.number, entry.copy)] = place
            }
            lines[line].open.append(entry.count)
            bits += entry.count
        }
        for line in lines.indices { lines[line].lastOutcome = PrefixMaximum(count: lines[line].open.count) }
        acceptedAt = Array(repeating: 0, count: bits)
        settledAt = Array(repeating: 0, count: bits)
    }

    private static func key(_ number: UInt32, _ copy: UInt8) -> UInt64 { UInt64(number) << 8 | UInt64(copy) }

    private func place(of number: UInt32, _ copy: UInt8) -> Place? {
        others.isEmpty ? places[number] : others[Self.key(number, copy)] ?? places[number]
    }

    /// A notification had an outcome, its first or another one.
    ///
    /// - Parameters:
    ///   - number: of its record; one that is not in the log is ignored.
    ///   - copy: that had the outcome, see ``MovedRecords/Copy/index``; 0: it was the published record.
    ///   - second: UNIX seconds.
    mutating func noteOutcome(number: UInt32, copy: UInt8 = 0, token: Int, second: UInt32) {
        guard let place = place(of: number, copy), token < place.count else { return }
        let bit = place.firstBit + token
        if settledAt[bit] == 0 { lines[place.line].open[place.index] -= 1 }
        settledAt[bit] = max(settledAt[bit], second)
        lines[place.line].lastOutcome.raise(place.index, to: second)
        while lines[place.line].firstOpen < lines[place.line].open.count,
            lines[place.line].open[lines[place.line].firstOpen] == 0
        {
            lines[place.line].firstOpen += 1
        }
    }

    /// A copy of a record stands in the log: all of it is done where it was published.
    mutating func noteCopy(number: UInt32, second: UInt32) {
        guard let place = others[Self.key(number, 0)] else { return }
        for token in 0..<place.count { noteOutcome(number: number, token: token, second: second) }
    }

    /// A notification was accepted.
    ///
    /// - Parameters: as for ``noteOutcome(number:copy:token:second:)``.
    /// - Returns: false: it is repeated, and nothing allows that.
    mutating func accepts(number: UInt32, token: Int, second: UInt32) -> Bool {
        guard let place = places[number] else { return true }
        return allows(place, token, second)
    }

    /// A notification of a record that has copies was moved where it was published, or sent: either counts as being
    /// accepted.
    ///
    /// - Parameters: as for ``noteOutcome(number:copy:token:second:)``.
    /// - Returns: as ``accepts(number:token:second:)`` does.
    mutating func handles(moved number: UInt32, token: Int, second: UInt32) -> Bool {
        guard let place = others[Self.key(number, 0)] else { return true }
        return allows(place, token, second)
    }

    private mutating func allows(_ place: Place, _ token: Int, _ second: UInt32) -> Bool {
        guard token < place.count else { return true }
        let bit = place.firstBit + token
        let before = acceptedAt[bit]
        acceptedAt[bit] = max(before, second)
        // Sent for the first time, or without an outcome since.
        guard before > 0, settledAt[bit] > 0, settledAt[bit] >= before else { return true }
        let line = lines[place.line]
        guard line.firstOpen > place.index else { return true }
        let latest = min(second, line.lastOutcome.maximum(through: place.index) + bounds.reachSeconds)
        let earliest = before - min(before, bounds.delaySeconds)
        guard earliest <= latest else { return false }
        if ends.contains(line.partition, in: earliest...latest) { return true }
        // Acceptances do not tell a copy from its record, which may have lain in sockets of that one's former owner.
        guard let origin = place.origin else { return false }
        return ends.contains(origin, in: earliest...latest)
    }
}
