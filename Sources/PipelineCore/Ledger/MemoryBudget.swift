/// Bounds the bytes that a shard holds of all topics, so that hungry topics leave room for the others.
///
/// A topic may hold as much as is free (dynamic threshold): one alone takes half of the limit, n hungry ones 1/(n + 1)
/// each, and as much stays free for new topics. Topics that are only probed hold a quarter together, and the record
/// that reached it; one may always take a record, whatever the others hold. Pure.
public struct MemoryBudget: Equatable, Sendable {
    /// Most bytes of all topics, records being counted whole.
    public private(set) var limitBytes: Int
    /// Most bytes of one topic.
    public private(set) var topicLimitBytes: Int
    public private(set) var usedBytes = 0
    /// Of these, bytes of topics that are only probed.
    public var probedBytes = 0

    public init(limitBytes: Int, topicLimitBytes: Int) {
        precondition(limitBytes >= 1 && topicLimitBytes >= 1)
        self.limitBytes = limitBytes
        self.topicLimitBytes = topicLimitBytes
    }

    /// Allows other numbers of bytes from now on. While more is used than the new limit, only probes take anything in.
    public mutating func use(limitBytes: Int, topicLimitBytes: Int) {
        precondition(limitBytes >= 1 && topicLimitBytes >= 1)
        self.limitBytes = limitBytes
        self.topicLimitBytes = topicLimitBytes
    }

    /// A topic that holds `topicBytes` may take one record more.
    public func admits(topicBytes: Int) -> Bool {
        topicBytes < min(topicLimitBytes, limitBytes - usedBytes)
    }

    /// A topic that is only probed may take one record more.
    public var admitsProbe: Bool { probedBytes < max(1, limitBytes / 4) }

    public mutating func takeBytes(_ bytes: Int) { usedBytes += bytes }

    public mutating func giveBack(_ bytes: Int) {
        precondition(bytes <= usedBytes)
        usedBytes -= bytes
    }
}
