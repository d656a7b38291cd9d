/// Tells when memory that was needed for work can go back, because there was no work for a while.
///
/// A topic with work every few seconds keeps its memory: to free it and to grow again would cost more than it holds.
public struct RestWatch: Equatable, Sendable {
    /// The time without work after which memory goes back.
    public static let patience = Duration.seconds(60)

    private var work: UInt64?
    private var since = MonotonicTime(nanoseconds: 0)

    public init() {}

    /// Looks at the work done.
    ///
    /// - Parameters:
    ///   - work: a number that changes whenever work is done.
    ///   - isAtRest: nothing is under way.
    /// - Returns: true if nothing was done for ``patience``; again after as long.
    public mutating func isOver(work: UInt64, isAtRest: Bool, now: MonotonicTime) -> Bool {
        guard isAtRest, self.work == work else {
            self.work = isAtRest ? work : nil
            since = now
            return false
        }
        guard since + Self.patience <= now else { return false }
        since = now
        return true
    }
}
