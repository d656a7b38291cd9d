/// Up to which place of an input everything that was made of it has been acknowledged, where acknowledgements come in any order.
///
/// The input is taken in sections; what is made of a section carries its number. A place is reached when its section and all
/// before it are acknowledged.
public struct CheckpointLedger<Place: Sendable>: Sendable {
    private struct Section {
        /// Where it ends; nil: it is the one under way.
        var end: Place?
        var pending = 0
    }

    private var sections: [Section] = [Section()]
    /// The number of the first of `sections`.
    private var first: UInt64 = 0

    public init() {}

    /// The number of the section under way.
    public var current: UInt64 { first + UInt64(sections.count) - 1 }

    /// Something was made of the section under way.
    public mutating func sent() {
        sections[sections.count - 1].pending += 1
    }

    /// The section under way ends here; the next begins.
    public mutating func close(at place: Place) {
        sections[sections.count - 1].end = place
        sections.append(Section())
    }

    /// Something of a section was acknowledged. A number that is too old or too new traps: it is a fault of ours.
    public mutating func acknowledged(_ number: UInt64) {
        let index = Int(number - first)
        precondition(sections[index].pending > 0, "acknowledged more often than sent")
        sections[index].pending -= 1
    }

    /// The last place that has been reached since it was asked for last; nil: none.
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
