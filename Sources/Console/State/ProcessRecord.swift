import BelfrySupport
import PipelineCore

/// A process as the console knows it.
struct ProcessRecord: Sendable {
    /// The course of its last looks.
    enum State: Equatable, Sendable {
        /// Not answered yet, and not failed.
        case new
        case answers
        /// The last look failed, in words.
        case away(String)
        /// Its name does not lead to it any more.
        case gone(since: MonotonicTime)
    }

    let address: HostPort
    private(set) var state = State.new
    private(set) var answer: RoleAnswer?
    private(set) var answeredAt: MonotonicTime?
    private(set) var rates = RateWindow()

    init(address: HostPort) { self.address = address }

    /// - Returns: the growth of its counts.
    mutating func took(_ answer: RoleAnswer, now: MonotonicTime) -> RateWindow.Growth {
        if case .gone = state { return RateWindow.Growth() }
        state = .answers
        self.answer = answer
        answeredAt = now
        return rates.take(RateWindow.Counters(of: answer), now: now)
    }

    mutating func failed(_ trouble: String) {
        if case .gone = state { return }
        state = .away(trouble)
    }

    /// Its name does not lead to it, or does so again.
    mutating func setListed(_ isListed: Bool, now: MonotonicTime) {
        switch (state, isListed) {
        case (.gone, true): state = .new
        case (.gone, false), (_, true): break
        case (_, false): state = .gone(since: now)
        }
    }

    /// The last answer was a worker's, and the process is still in the list.
    var isWorker: Bool {
        if case .gone = state { return false }
        return answer?.role == "worker"
    }

    /// Its answer counts for sums and rates.
    func isFresh(now: MonotonicTime) -> Bool {
        if case .gone = state { return false }
        guard let answeredAt else { return false }
        return answeredAt.elapsed(until: now) < ConsoleLimits.freshness
    }

    /// Since its last answer; nil: it never answered.
    func silenceSeconds(now: MonotonicTime) -> Double? {
        answeredAt.map { $0.elapsed(until: now) / .seconds(1) }
    }

    /// Without its rates: what it told last is shown, and nothing goes on.
    func atRest() -> ProcessRecord {
        var record = self
        record.rates = RateWindow()
        return record
    }

    func isForgotten(now: MonotonicTime) -> Bool {
        guard case .gone(let since) = state else { return false }
        // One that never answered leaves nothing to tell.
        return answer == nil || since.elapsed(until: now) >= ConsoleLimits.memoryOfGone
    }
}
