import HTTP2Transport
import NIOCore

/// Answers that faults hold back, in the order of the times at which they are due. Pure.
struct HeldAnswers {
    struct Item {
        let due: NIODeadline
        let stream: HTTP2StreamID
        let ruling: APIRuling
        /// The request's id as it came; nil: it had none that is one.
        let id: [UInt8]?
        let collapsesStreams: Bool
        /// Of a request about channels.
        var channels: ChannelRequest?
    }

    /// The ones before ``head`` have left.
    private var items: [Item] = []
    private var head = 0

    var isEmpty: Bool { head == items.count }

    /// The time at which the first is due; nil: there is none.
    var nextDue: NIODeadline? { isEmpty ? nil : items[head].due }

    /// Behind all that are due before it, or at the same time. As a rule that is the end.
    mutating func insert(_ item: Item) {
        var place = items.count
        while place > head, items[place - 1].due > item.due { place -= 1 }
        items.insert(item, at: place)
    }

    /// Takes the first if its time has come.
    mutating func takeDue(now: NIODeadline) -> Item? {
        guard !isEmpty, items[head].due <= now else { return nil }
        let item = items[head]
        head += 1
        if isEmpty {
            removeAll()
        } else if head > 64, head > items.count / 2 {
            items.removeFirst(head)
            head = 0
        }
        return item
    }

    mutating func removeAll() {
        items.removeAll(keepingCapacity: true)
        head = 0
    }
}
