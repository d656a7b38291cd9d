/// Tells how much a rate asks for. What was not asked for in a second is not made up for. Pure.
package struct StreamPace: Equatable, Sendable {
    package let perSecond: Int
    private var last: Duration?
    /// Not asked for yet: parts of one, at most.
    private var rest = 0.0

    package init(perSecond: Int) {
        self.perSecond = perSecond
    }

    /// The number that is due since the last call; 0 at the first one.
    ///
    /// - Parameter now: since any beginning; does not fall from call to call.
    package mutating func due(at now: Duration) -> Int {
        let seconds = min(1, (now - (last ?? now)) / .seconds(1))
        last = now
        rest += seconds * Double(perSecond)
        let due = rest.rounded(.down)
        rest -= due
        return Int(due)
    }
}
