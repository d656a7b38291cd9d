/// A queue in which every element has a time before which it does not leave, and nothing overtakes.
///
/// Pure: times are arguments, in nanoseconds of a clock that never goes back.
struct DelayLine<Element> {
    private struct Item {
        let element: Element
        let bytes: Int
        let due: Int64
    }

    /// The ones before ``head`` have left.
    private var items: [Item?] = []
    private var head = 0

    /// Bytes of all elements in the queue.
    private(set) var bytes = 0

    var isEmpty: Bool { head == items.count }

    /// The time at which the first may leave, not before those that stand before it; `nil` = there is none.
    var nextDue: Int64? { isEmpty ? nil : items[head]?.due }

    /// Adds an element at the end.
    mutating func append(_ element: Element, bytes: Int, due: Int64) {
        let last = isEmpty ? .min : items[items.count - 1]?.due ?? .min
        items.append(Item(element: element, bytes: bytes, due: max(due, last)))
        self.bytes += bytes
    }

    /// Puts an element back that has left.
    mutating func putBack(_ element: Element, bytes: Int) {
        let item = Item(element: element, bytes: bytes, due: .min)
        if head > 0 {
            head -= 1
            items[head] = item
        } else {
            items.insert(item, at: 0)
        }
        self.bytes += bytes
    }

    /// Takes the first if its time has come.
    mutating func takeDue(now: Int64) -> Element? {
        guard !isEmpty, let item = items[head], item.due <= now else { return nil }
        items[head] = nil
        head += 1
        bytes -= item.bytes
        if isEmpty {
            items.removeAll(keepingCapacity: true)
            head = 0
        } else if head > 64, head > items.count / 2 {
            items.removeFirst(head)
            head = 0
        }
        return item.element
    }
}
