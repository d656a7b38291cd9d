/// A ring of bytes with records of notifications, see ``StoredRecord``: written at its head and freed at its tail.
///
/// A record lies in one piece: what is left of the ring behind the head, and is too short for it, is padding. The pages
/// are the kernel's until they are first written.
struct RecordRing: Sendable {
    /// The granule in bytes, and the size of a record's head.
    static let unitBytes = 16

    /// In units.
    let capacity: Int
    /// Empty until it is prepared.
    private var bytes: [UInt8] = []
    /// The unit that is written next.
    private var head = 0
    /// The oldest unit.
    private var tail = 0
    /// Units from the tail to the head, padding included.
    private var used = 0

    /// - Parameter limitBytes: rounded down to whole units, at least one.
    init(limitBytes: Int) {
        capacity = max(1, limitBytes / Self.unitBytes)
    }

    var isPrepared: Bool { !bytes.isEmpty }

    /// Takes the memory, before the first record.
    mutating func prepare() { bytes = .unwritten(count: capacity * Self.unitBytes) }

    /// Frees all.
    mutating func clear() { (head, tail, used) = (0, 0, 0) }

    // MARK: Room

    /// Takes so many units in a row, at most the capacity.
    ///
    /// - Returns: the first of them; nil: the oldest piece has to be freed before.
    mutating func reserve(_ units: Int) -> Int? {
        let untilEnd = capacity - head
        if untilEnd < units {
            guard capacity - used >= untilEnd else { return nil }
            let offset = head * Self.unitBytes
            bytes.withUnsafeMutableBytes { StoredRecord.writePadding(units: untilEnd, to: $0, at: offset) }
            _ = advanceHead(untilEnd)
        }
        return capacity - used >= units ? advanceHead(units) : nil
    }

    private mutating func advanceHead(_ units: Int) -> Int {
        let unit = head
        used += units
        head = next(unit, units)
        return unit
    }

    /// Frees the oldest piece. Its bytes stay until others are written.
    ///
    /// - Returns: the record and its place; nil: it was padding.
    @discardableResult
    mutating func freeOldest() -> (record: StoredRecord, unit: Int)? {
        let unit = tail
        let (record, units) = piece(at: unit)
        used -= units
        tail = next(unit, units)
        return record.map { ($0, unit) }
    }

    private func next(_ unit: Int, _ units: Int) -> Int { unit + units == capacity ? 0 : unit + units }

    // MARK: Records

    /// The record at a unit, nil for padding, and its length.
    private func piece(at unit: Int) -> (record: StoredRecord?, units: Int) {
        let padding = bytes.withUnsafeBytes { StoredRecord.paddingUnits(in: $0, at: unit * Self.unitBytes) }
        guard padding == 0 else { return (nil, padding) }
        let record = record(at: unit)
        return (record, record.units)
    }

    func record(at unit: Int) -> StoredRecord {
        bytes.withUnsafeBytes { StoredRecord(from: $0, at: unit * Self.unitBytes) }
    }

    /// The place of the latest record that is meant; nil: there is none. Looks at all.
    func lastUnit(where isMeant: (StoredRecord) -> Bool) -> Int? {
        var found: Int?
        var (unit, rest) = (tail, used)
        while rest > 0 {
            let (record, units) = piece(at: unit)
            if let record, isMeant(record) { found = unit }
            rest -= units
            unit = next(unit, units)
        }
        return found
    }

    /// The part that is wanted of the content behind a record, as a copy.
    func content(
        at unit: Int,
        _ part: (StoredRecord, UnsafeRawBufferPointer) -> UnsafeRawBufferPointer
    ) -> [UInt8] {
        bytes.withUnsafeBytes { bytes in
            let content = UnsafeRawBufferPointer(rebasing: bytes[((unit + 1) * Self.unitBytes)...])
            return Array(part(record(at: unit), content))
        }
    }

    mutating func write(
        _ record: StoredRecord,
        payload: UnsafeRawBufferPointer,
        collapseID: UnsafeRawBufferPointer,
        at unit: Int
    ) {
        bytes.withUnsafeMutableBytes { bytes in
            record.write(to: bytes, at: unit * Self.unitBytes)
            let content = UnsafeMutableRawBufferPointer(rebasing: bytes[((unit + 1) * Self.unitBytes)...])
            record.write(payload: payload, collapseID: collapseID, behind: content)
        }
    }

    /// Writes a record's head anew.
    mutating func rewrite(_ record: StoredRecord, at unit: Int) {
        bytes.withUnsafeMutableBytes { record.write(to: $0, at: unit * Self.unitBytes) }
    }

    /// Copies units, which may overlap with their new place.
    mutating func copy(_ units: Int, from source: Int, to target: Int) {
        bytes.withUnsafeMutableBytes { bytes in
            let copied = bytes[source * Self.unitBytes..<(source + units) * Self.unitBytes]
            UnsafeMutableRawBufferPointer(rebasing: bytes[(target * Self.unitBytes)...])
                .copyMemory(from: UnsafeRawBufferPointer(rebasing: copied))
        }
    }

    @inline(__always)
    func prefetch(_ unit: Int) { bytes.prefetch(unit * Self.unitBytes) }
}
