import APNsProtocol

@testable import PipelineCore

/// The naive model of queues: a list of all notifications, each with its whole history.
final class StreamAuditor {
    /// The service's mind about a notification.
    enum Fate {
        case answers(ProviderVerdict)
        /// So at first, then accepted.
        case answersAtFirst(ProviderVerdict)
        /// The service ends its connection.
        case poison
    }

    private enum State: Equatable {
        case waiting
        case inFlight
        case settled(StreamVerdict.Result)
        /// It left without an outcome.
        case gone
    }

    private struct Notification {
        let topic: Int
        let token: UInt32
        let assignment: UInt32
        let fate: Fate
        var state = State.waiting
        var sendings = 0
        var answers = 0
        var accepted = false
        /// A request of it was not answered.
        var isUnknown = false
        /// Ends for which it was to blame alone.
        var loneEnds = 0
        /// Its partition is being given back, or is gone.
        var isStopped = false
        var isForgotten = false
    }

    private let options: StreamWorld.Options
    private var notifications: [Notification] = []
    private(set) var faults: [String] = []
    private(set) var poisoned = 0
    private(set) var resent = 0
    var findings = 0

    init(options: StreamWorld.Options) {
        self.options = options
    }

    func check(_ holds: Bool, _ fault: @autoclosure () -> String) {
        if !holds { faults.append(fault()) }
    }

    // MARK: Events

    func publish(topic: Int, token: UInt32, assignment: UInt32, fate: Fate) {
        notifications.append(Notification(topic: topic, token: token, assignment: assignment, fate: fate))
    }

    func sent(_ ordinal: UInt32, token: [UInt8], isAllowed: Bool) {
        let index = Int(ordinal)
        let notification = notifications[index]
        check(isAllowed, "\(ordinal) is sent though nothing may go")
        check(notification.state == .waiting, "\(ordinal) is sent while it is \(notification.state)")
        check(!notification.isStopped, "\(ordinal) is sent though its partition is gone")
        check(token.starts(with: StreamProbe.token(notification.token).prefix(4)), "\(ordinal) has another token")
        for (other, older) in notifications.enumerated() where older.token == notification.token && other != index {
            check(older.state != .inFlight, "\(ordinal) is sent while \(other) of its token is in flight")
            check(other > index || older.state != .waiting, "\(ordinal) is sent before \(other) of its token")
        }
        notifications[index].state = .inFlight
        notifications[index].sendings += 1
        if notifications[index].isUnknown { resent += 1 }
    }

    /// The service's answer; nil: it ends the connection.
    func answer(to ordinal: UInt32) -> ProviderVerdict? {
        let index = Int(ordinal)
        notifications[index].answers += 1
        let answer: ProviderVerdict? =
            switch notifications[index].fate {
            case .answers(let verdict): verdict
            case .answersAtFirst(let verdict): notifications[index].answers > 1 ? .accepted : verdict
            case .poison: nil
            }
        if answer == .accepted { notifications[index].accepted = true }
        return answer
    }

    /// A request is over, and its notification was not accepted without an outcome.
    func landed(_ ordinal: UInt32) {
        leaveFlight(Int(ordinal))
    }

    /// A request was not answered.
    func lost(_ ordinal: UInt32, isLone: Bool) {
        let index = Int(ordinal)
        guard notifications[index].state == .inFlight else { return }
        notifications[index].isUnknown = true
        if isLone { notifications[index].loneEnds += 1 }
        leaveFlight(index)
    }

    private func leaveFlight(_ index: Int) {
        guard notifications[index].state == .inFlight else { return }
        notifications[index].state = notifications[index].isStopped ? .gone : .waiting
    }

    func settled(_ ordinal: UInt32, _ result: StreamVerdict.Result, loneCloses: Int) {
        let notification = notifications[Int(ordinal)]
        let isOpen: Bool =
            switch notification.state {
            case .waiting, .inFlight: true
            case .gone: notification.isStopped && !notification.isForgotten
            case .settled: false
            }
        check(isOpen, "\(ordinal) got another outcome: \(result) after \(notification.state)")
        check(!notification.isForgotten, "\(ordinal) got an outcome though its partition is gone")
        check(isTrue(result, notification, loneCloses: loneCloses), "\(ordinal) is \(result)")
        if result == .poison { poisoned += 1 }
        notifications[Int(ordinal)].state = .settled(result)
    }

    private func isTrue(_ result: StreamVerdict.Result, _ notification: Notification, loneCloses: Int) -> Bool {
        switch (result, notification.fate) {
        case (.confirmed, _): notification.accepted
        case (.presumed, _): notification.isUnknown && options.policy == .presume
        case (.unknown, _): notification.isUnknown && options.policy == .giveUp
        case (.poison, let fate): notification.loneEnds >= loneCloses && mayBePoison(fate)
        case (.rejected, .answers(.rejected)), (.rejected, .answers(.retryTokenLater)): true
        case (.tokenDead, .answers(.tokenDead)), (.tokenRefused, .answers(.tokenRefused)): true
        case (.deadLetter, .answers(.deadLetter)): true
        default: false
        }
    }

    /// Faults, too, can make a notification look so.
    private func mayBePoison(_ fate: Fate) -> Bool {
        guard options.policy == .resend else { return false }
        if case .poison = fate { return true }
        return options.fails
    }

    /// The notification left the queue while it waited.
    func removed(_ ordinal: UInt32) {
        let state = notifications[Int(ordinal)].state
        check(state == .waiting, "\(ordinal) is taken away while it is \(state)")
        notifications[Int(ordinal)].state = .gone
    }

    func stopped(assignment: UInt32) {
        for index in notifications.indices where notifications[index].assignment == assignment {
            notifications[index].isStopped = true
            if notifications[index].state == .waiting { notifications[index].state = .gone }
        }
    }

    func forgotten(assignment: UInt32) {
        for index in notifications.indices where notifications[index].assignment == assignment {
            notifications[index].isForgotten = true
        }
    }

    // MARK: Books

    /// Ordinals of a token that wait, oldest first.
    func waiting(token: UInt32) -> [UInt32] {
        notifications.indices
            .filter { notifications[$0].token == token && notifications[$0].state == .waiting }
            .map { UInt32($0) }
    }

    func checkCounts(topic: Int, inFlight: Int, waiting: Int) {
        let mine = notifications.filter { $0.topic == topic }
        let flying = mine.count { $0.state == .inFlight }
        let standing = mine.count { $0.state == .waiting }
        check(flying == inFlight, "topic \(topic) counts \(inFlight) in flight, not \(flying)")
        check(standing == waiting, "topic \(topic) counts \(waiting) waiting, not \(standing)")
    }

    /// Checks the books when nothing is left to do.
    func close() {
        for (ordinal, notification) in notifications.enumerated() {
            switch notification.state {
            case .waiting, .inFlight: check(false, "\(ordinal) is lost: \(notification.state)")
            case .gone: check(notification.isStopped || options.removes, "\(ordinal) has no outcome")
            case .settled(let result):
                let isBad = result != .confirmed && notification.accepted && !notification.isUnknown
                check(!isBad, "\(ordinal) was accepted and is \(result)")
            }
        }
    }
}
