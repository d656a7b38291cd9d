/// The place in an input up to which all derived items are acknowledged. Acknowledgements come in any order.
///
/// The input is taken in sections; items derived from a section carry its number. A place is reached when its section
/// and all before it are acknowledged.
public struct CheckpointLedger<Place: Sendable>: Sendable {
    private struct Section {
        /// End of the section; nil while it is under way.
        var end: Place?
        var pending = 0
    }

    private var sections: [Section] = [Section()]
    /// The number of the first of `sections`.
    private var first: UInt64 = 0

    public init() {}

    /// The number of the section under way.
    public var current: UInt64 { first + UInt64(sections.count) - 1 }

    /// An item of the section under way was sent.
    public mutating func sent() {
        sections[sections.count - 1].pending += 1
    }

    /// The section under way ends here; the next begins.
    public mutating func close(at place: Place) {
        sections[sections.count - 1].end = place
        sections.append(Section())
    }

    /// An item of a section was acknowledged. A number that is too old or too new traps: it is a bug of ours.
    public mutating func acknowledged(_ number: UInt64) {
        let index = Int(number - first)
        precondition(sections[index].pending > 0, "acknowledged more often than sent")
        sections[index].pending -= 1
    }

    /// The last place reached since the previous call; nil if none.
    public mutating func takeReached() -> Place? {
        var reached: Place?
        var count = 0
        for section in sections {
            guard section.pending == 0, let end = section.end else { break }
            reached = end
            count += 1
        }
        sections.removeFirst(count)
        first += UInt64(count)
        return reached
    }
}
