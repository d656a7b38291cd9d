/// The wait of a command for a log that brings nothing: told after a while, and given up in the end. Pure.
struct LogPatience {
    enum Action: Equatable {
        case wait
        /// Nothing came for so long that the command says so; once until something comes.
        case tell
        case giveUp
    }

    private let notice: Duration
    private let limit: Duration
    private var silentSince: ContinuousClock.Instant?
    private var isTold = false

    /// - Parameters:
    ///   - notice: without a batch, after which the wait is told.
    ///   - limit: without a batch, after which it is given up.
    init(notice: Duration = .seconds(2), limit: Duration = .seconds(60)) {
        self.notice = notice
        self.limit = limit
    }

    /// Something came.
    mutating func came() {
        silentSince = nil
        isTold = false
    }

    /// Nothing is there now.
    mutating func nothingCame(now: ContinuousClock.Instant) -> Action {
        guard let since = silentSince else {
            silentSince = now
            return .wait
        }
        let silence = since.duration(to: now)
        guard silence < limit else { return .giveUp }
        guard silence >= notice, !isTold else { return .wait }
        isTold = true
        return .tell
    }
}
