import PushSchemas

/// The number on the icon of a token's app, as ``BadgeScript`` keeps it.
struct BadgeRecord: Equatable {
    /// A change that is kept.
    struct Entry: Equatable {
        /// Twelve bytes that tell the change from all others.
        var mark: [UInt8]
        /// Nil: it was taken back.
        var change: BadgeChange?
        /// UNIX milliseconds: see ``BadgeMark/claimedAt``.
        var claimedAt: Int64
    }

    private static let version: UInt8 = 1
    private static let markBytes = 12
    private static let headBytes = 5
    private static let claimBytes = 6
    private static let entryBytes = markBytes + 5 + claimBytes

    /// The number before the changes that are kept.
    var base: UInt32
    /// In the order in which they were made.
    var entries: [Entry]

    /// Reads a value; nil: it has another form.
    init?(_ value: UnsafeRawBufferPointer) {
        guard value.count >= Self.headBytes, value[0] == Self.version,
            (value.count - Self.headBytes) % Self.entryBytes == 0
        else { return nil }
        func number(at place: Int) -> UInt32 {
            UInt32(littleEndian: value.loadUnaligned(fromByteOffset: place, as: UInt32.self))
        }
        base = number(at: 1)
        entries = []
        for place in stride(from: Self.headBytes, to: value.count, by: Self.entryBytes) {
            let kind = place + Self.markBytes
            let change: BadgeChange?
            switch value[kind] {
            case 0: change = nil
            case 1: change = .set(number(at: kind + 1))
            case 2: change = .add(Int32(bitPattern: number(at: kind + 1)))
            default: return nil
            }
            let thousandths = UInt16(littleEndian: value.loadUnaligned(fromByteOffset: kind + 9, as: UInt16.self))
            entries.append(
                Entry(
                    mark: Array(value[place..<kind]),
                    change: change,
                    claimedAt: Int64(number(at: kind + 5)) * 1000 + Int64(thousandths)
                )
            )
        }
    }

    /// Something counts: not all changes were taken back.
    var isThere: Bool { base > 0 || entries.contains { $0.change != nil } }

    /// The number after all changes.
    var number: UInt32 {
        entries.reduce(base) { $1.change?.applied(to: $0) ?? $0 }
    }
}
