/// Decides from which offset the reader of one partition feeds lagging topics.
///
/// Topics that may be fed are visited in turn, the one whose last visit is longest ago first. A visit is limited to so
/// many bytes and a limited stretch of the log; other topics whose next offset the reader passes are fed along. So one
/// long lag, even of few records, keeps no short one waiting. Pure.
public struct CatchUp: Equatable, Sendable {
    /// A topic that is behind and may be fed.
    public struct Candidate: Equatable, Sendable {
        public var topic: AppHash
        public var next: Int64

        public init(topic: AppHash, next: Int64) {
            self.topic = topic
            self.next = next
        }
    }

    /// The reader's next step.
    public enum Reading: Equatable, Sendable {
        /// No topic may be fed.
        case stop
        case goOn
        case begin(at: Int64)
    }

    /// Most bytes of one visit.
    public let visitBytes: Int
    /// The longest distance in offsets that is read and skipped rather than jumped over.
    private static let shortWay: Int64 = 1000
    /// Most offsets of one visit: a topic may have few records in a long log.
    private static let visitOffsets: Int64 = 100_000

    /// The reader's next offset; nil while it does not read.
    public private(set) var position: Int64?
    private var visited: AppHash?
    private var bytesLeft = 0
    /// The visit ends here at the latest.
    private var visitEnd: Int64 = 0
    private var visits: [AppHash: UInt64] = [:]
    private var lastVisit: UInt64 = 0

    public init(visitBytes: Int = 4 << 20) {
        self.visitBytes = visitBytes
    }

    /// Decides what the reader does next.
    ///
    /// - Parameter candidates: the topics that may be fed, in any order.
    public mutating func decide(_ candidates: [Candidate]) -> Reading {
        guard !candidates.isEmpty else {
            halt()
            return .stop
        }
        if let position, bytesLeft > 0, position < visitEnd,
            let now = candidates.first(where: { $0.topic == visited }),
            isShort(from: position, to: now.next)
        {
            return .goOn
        }
        guard
            let chosen = candidates.min(by: { left, right in
                (visits[left.topic] ?? 0, left.next, left.topic) < (visits[right.topic] ?? 0, right.next, right.topic)
            })
        else { return .stop }
        if visits.count > 4 * candidates.count + 64 {
            let known = Set(candidates.map(\.topic))
            visits = visits.filter { known.contains($0.key) }
        }
        lastVisit += 1
        visits[chosen.topic] = lastVisit
        visited = chosen.topic
        bytesLeft = visitBytes
        visitEnd = chosen.next + Self.visitOffsets
        if let position, isShort(from: position, to: chosen.next) { return .goOn }
        position = chosen.next
        return .begin(at: chosen.next)
    }

    /// The reader has passed everything before an offset.
    public mutating func passed(upTo offset: Int64) {
        guard let position, position < offset else { return }
        self.position = offset
    }

    /// A record of the visited topic was fed.
    public mutating func fed(_ topic: AppHash, bytes: Int) {
        if topic == visited { bytesLeft -= bytes }
    }

    /// The reader was stopped.
    public mutating func halt() {
        position = nil
        visited = nil
        bytesLeft = 0
    }

    private func isShort(from position: Int64, to next: Int64) -> Bool {
        position <= next && next - position <= Self.shortWay
    }
}
