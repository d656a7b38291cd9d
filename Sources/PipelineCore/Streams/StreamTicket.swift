/// Names one sending of one notification: the mark of its stream.
///
/// A notification that goes again gets another ticket. So a late event of its former stream finds nothing.
public struct StreamTicket: RawRepresentable, Hashable, Sendable {
    /// Most queues that can be told apart.
    public static let mostQueues = 1 << 16
    /// Most notifications in a queue.
    static let mostSlots = 1 << slotBits
    private static let slotBits = 24
    private static let sendingBits = 24

    /// Number of the queue (16 bits), slot (24), number of the sending (24), from the top.
    ///
    /// The last wraps. A ticket is old for moments only, because a stream that was given up is reset at once; so it
    /// never meets its double.
    public let rawValue: UInt64

    public init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    init(queue: UInt16, slot: Int, sending: UInt64) {
        let low = UInt64(slot) << Self.sendingBits | sending & (1 << Self.sendingBits - 1)
        rawValue = UInt64(queue) << (Self.slotBits + Self.sendingBits) | low
    }

    /// The number of the queue, as given to ``StreamQueue/init(number:limits:)``.
    public var queue: UInt16 { UInt16(truncatingIfNeeded: rawValue >> (Self.slotBits + Self.sendingBits)) }

    /// The place of the notification in its queue.
    public var slot: Int { Int(rawValue >> Self.sendingBits & (1 << Self.slotBits - 1)) }

    /// The ticket may be that of a sending of this number.
    func isOf(sending: UInt64) -> Bool {
        (rawValue ^ sending) & (1 << Self.sendingBits - 1) == 0
    }
}
