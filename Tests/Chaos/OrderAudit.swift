/// Checks that one token's acceptances came in the promised order.
///
/// The promise, per token within one key and one producer: first acceptances come in published order, a resend repeats
/// a suffix of what was accepted before, and the last accepted is the newest. A resend may itself be cut short by
/// another one, which repeats a suffix again.
///
/// A notification that a resend leaves out is excused when it had another outcome meanwhile: the gateway refused it the
/// second time, or its token was tombstoned. So it is when it was stored as done: the gateway refused the older one
/// that the resend begins with, and the worker ended before that was written down. Those are counted, not judged.
///
/// Neither is disorder between two owners of a partition which the broker let send side by side: see ``Handovers``. The
/// row of one seems cut short or full of holes where the other's comes in between. But each must be whole: what is left
/// out by then was accepted since the next owner began, before or after.
///
/// Pure. What is looked at are numbers that grow in published order, or by another one. What was never accepted is no
/// matter of order: whether it should have been is asked elsewhere.
struct OrderAudit: Equatable, Sendable {
    /// An error of one acceptance, or of the last.
    enum Violation: Hashable, Sendable {
        /// A newer one was accepted before this one ever was.
        case overtaken(number: UInt32, by: UInt32)
        /// A resend went on with something new before it had repeated all that came after its beginning.
        case cutShort(after: UInt32, by: UInt32)
        /// A resend left out something in its middle.
        case hole(after: UInt32, before: UInt32)
        /// Older than the newest accepted.
        case staleLast(UInt32, newest: UInt32)

        /// As counted in the result.
        var name: String {
            switch self {
            case .overtaken: "overtaken"
            case .cutShort: "cut-short"
            case .hole: "hole"
            case .staleLast: "stale-last"
            }
        }
    }

    private(set) var violations: [Violation] = []
    /// Times that acceptances began again at one that was accepted before.
    private(set) var resends = 0
    /// Older ones were accepted behind newer ones, for the first time or again, but all that is newer came again after
    /// each: as if the older had been sent in its turn and not been accepted.
    private(set) var isLateOnly = true
    /// Number of those that came late.
    private(set) var late = 0
    /// Acceptances of what was accepted before.
    private(set) var duplicates = 0
    /// Times that a resend left out only what had another outcome, or was stored as done.
    private(set) var excused = 0
    /// Number of those left out where a second owner's acceptances came in between.
    private(set) var handedOver = 0

    /// - Parameters:
    ///   - accepted: the numbers of one token, in the order they were accepted. Work and memory grow with its count.
    ///   - isExcused: whether a number had an outcome other than being accepted, too.
    ///   - isDone: whether a number was stored as done by the time of an acceptance, given by its place, from 0.
    ///   - handover: the place of the first acceptance since the next owner began, if an acceptance, given by its
    ///     place, came while two owners' might; else nil.
    ///   - order: the place of a number in the order that is promised.
    init(
        _ accepted: some Collection<UInt32>,
        isExcused: (UInt32) -> Bool = { _ in false },
        isDone: (UInt32, Int) -> Bool = { _, _ in false },
        handover: (Int) -> Int? = { _ in nil },
        order: (UInt32) -> Int64 = { Int64($0) }
    ) {
        // Violations are judged by place among the different numbers: the next one accepted is the one behind.
        let numbers = Self.distinct(accepted, order)
        var seen = [Bool](repeating: false, count: numbers.count)
        var newest = -1
        var last = -1
        // By place: when it was last accepted. And what was left out, when.
        let places = accepted.map { Self.place(of: $0, in: numbers, order) }
        var lastTime = [Int](repeating: 0, count: numbers.count)
        for (index, place) in places.enumerated() { lastTime[place] = index + 1 }
        var missed: [(place: Int, time: Int)] = []
        var time = 0
        // Suspects: the acceptances, by place, of which one may be of another owner.
        func leftOut(upTo end: Int, suspects: [Int]) -> Bool {
            let unexcused = (last + 1..<end).filter { !isExcused(numbers[$0]) }
            let missing = unexcused.filter { !isDone(numbers[$0], time - 1) }
            guard !missing.isEmpty else {
                excused += 1
                return false
            }
            for index in suspects where index >= 0 {
                guard let start = handover(index), missing.allSatisfy({ lastTime[$0] > start }) else { continue }
                handedOver += missing.count
                return false
            }
            missed += missing.map { ($0, time) }
            return true
        }
        for (number, place) in zip(accepted, places) {
            time += 1
            if !seen[place] {
                seen[place] = true
                if place < newest {
                    late += 1
                    violations.append(.overtaken(number: number, by: numbers[newest]))
                    // Later notifications are judged as if this one was sent again before them.
                    if place > last + 1, leftOut(upTo: place, suspects: [time - 1, time - 2]) {
                        violations.append(.hole(after: numbers[last], before: number))
                    }
                } else {
                    if last < newest, leftOut(upTo: newest + 1, suspects: [time - 1, time - 2]) {
                        violations.append(.cutShort(after: numbers[last], by: number))
                    }
                    newest = place
                }
            } else {
                duplicates += 1
                if place <= last {
                    resends += 1
                } else if place > last + 1, leftOut(upTo: place, suspects: [time - 1, time - 2]) {
                    violations.append(.hole(after: numbers[last], before: number))
                }
            }
            last = place
        }
        if last < newest, leftOut(upTo: newest + 1, suspects: [time - 1]) {
            violations.append(.staleLast(numbers[last], newest: numbers[newest]))
        }
        late += missed.count
        isLateOnly = missed.allSatisfy { lastTime[$0.place] > $0.time }
    }

    private static func distinct(_ accepted: some Collection<UInt32>, _ order: (UInt32) -> Int64) -> [UInt32] {
        var numbers = accepted.sorted { (order($0), $0) < (order($1), $1) }
        var kept = 0
        for number in numbers where kept == 0 || numbers[kept - 1] != number {
            numbers[kept] = number
            kept += 1
        }
        numbers.removeLast(numbers.count - kept)
        return numbers
    }

    private static func place(of number: UInt32, in numbers: [UInt32], _ order: (UInt32) -> Int64) -> Int {
        let wanted = (order(number), number)
        var low = 0
        var high = numbers.count
        while low < high {
            let middle = (low + high) / 2
            if (order(numbers[middle]), numbers[middle]) < wanted { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
