import APNsProtocol
import Testing

@testable import PipelineCore

/// Keeps the books of one lane: what was sent, what every notification's outcome is, and whether that is true.
final class LaneAuditor {
    enum Outcome: Equatable {
        case open
        case confirmed
        case presumed(bySilence: Bool)
        case unknown
        case refused
        /// Not sent (again): its token was refused.
        case silenced
        /// Presumed, then found wrong: open again.
        case reopened
    }

    let options: LaneWorld.Options
    var outcomes: [Outcome] = []
    /// The partition is gone or going: its next owner sends what has no outcome.
    var released: [Bool] = []
    var presumedWrong = 0
    private(set) var faults: [String] = []
    private var wasSent: [Bool] = []
    private var assignments: [UInt32] = []
    private var forgotten: Set<UInt32> = []
    private var stopped: Set<UInt32> = []
    private var newestSent: Int64 = -1
    /// The last one handed to the open connection.
    private var lastOnConnection: Int64 = -1
    private var firstOnConnection = 0
    /// Connections that ended without a word while the notification was alone in flight.
    private var loneCloses: [Int: Int] = [:]
    private(set) var poisoned = 0

    init(options: LaneWorld.Options) {
        self.options = options
    }

    func published(assignment: UInt32) {
        outcomes.append(.open)
        released.append(false)
        wasSent.append(false)
        assignments.append(assignment)
    }

    func check(_ condition: Bool, _ rule: @autoclosure () -> String) {
        if !condition { faults.append(rule()) }
    }

    // MARK: Revocations

    func stopped(assignment: UInt32) {
        stopped.insert(assignment)
        for ordinal in outcomes.indices where assignments[ordinal] == assignment && isOpen(ordinal) {
            released[ordinal] = true
        }
    }

    func forgot(assignment: UInt32) {
        stopped(assignment: assignment)
        forgotten.insert(assignment)
    }

    // MARK: Sending

    /// - Parameter resume: the oldest unsettled ordinal; everything before has its outcome.
    func opened(resume: Int) {
        lastOnConnection = Int64(resume) - 1
        firstOnConnection = resume
        for ordinal in outcomes.indices.prefix(resume) where !released[ordinal] {
            check(!isOpen(ordinal), "\(ordinal) has no outcome, but the connection starts after it")
        }
    }

    func sent(_ ordinal: UInt32) {
        let index = Int(ordinal)
        check(!forgotten.contains(assignments[index]), "\(ordinal) was sent though its partition is gone")
        check(isOpen(index), "\(ordinal) was sent though it has an outcome: \(outcomes[index])")
        check(Int64(ordinal) > lastOnConnection, "\(ordinal) was sent out of order")
        for skipped in max(0, lastOnConnection + 1)..<max(Int64(ordinal), max(0, lastOnConnection + 1)) {
            let isGone = stopped.contains(assignments[Int(skipped)]) || outcomes[Int(skipped)] == .silenced
            check(isGone, "\(skipped) was skipped: a resend is not a suffix")
        }
        if !wasSent[index] {
            check(!stopped.contains(assignments[index]), "\(ordinal) was first sent while being revoked")
            check(Int64(ordinal) > newestSent, "\(ordinal) was first sent after \(newestSent)")
            newestSent = Int64(ordinal)
        }
        wasSent[index] = true
        lastOnConnection = Int64(ordinal)
    }

    /// The open connection ended without an answer.
    func closedSilently() {
        guard lastOnConnection >= Int64(firstOnConnection) else { return }
        let unsettled = (firstOnConnection...Int(lastOnConnection)).filter(isOpen)
        if unsettled.count == 1 { loneCloses[unsettled[0], default: 0] += 1 }
    }

    // MARK: Verdicts

    func confirmed(_ ordinal: Int, by gateway: GatewayModel) {
        check(isOpen(ordinal), "\(ordinal) got a second outcome: confirmed after \(outcomes[ordinal])")
        check(gateway.acceptedCount[ordinal] > 0, "\(ordinal) is confirmed but was not accepted")
        outcomes[ordinal] = .confirmed
    }

    func presumed(_ ordinal: Int, bySilence: Bool, by gateway: GatewayModel) {
        check(isOpen(ordinal), "\(ordinal) got a second outcome: presumed after \(outcomes[ordinal])")
        check(wasSent[ordinal], "\(ordinal) is presumed but was never handed over")
        if bySilence, options.isPunctual {
            check(gateway.acceptedCount[ordinal] > 0, "\(ordinal) is presumed wrongly though answers are punctual")
        }
        check(bySilence || options.policy == .presume, "\(ordinal) is presumed against the policy")
        outcomes[ordinal] = .presumed(bySilence: bySilence)
    }

    func unknown(_ ordinal: Int) {
        check(isOpen(ordinal), "\(ordinal) got a second outcome: unknown after \(outcomes[ordinal])")
        check(options.policy == .giveUp, "\(ordinal) is given up against the policy")
        outcomes[ordinal] = .unknown
    }

    /// - Parameter limit: silent ends of connections after which a notification alone in flight is refused.
    func refused(_ ordinal: Int, wasPresumed: Bool, loneCloses limit: Int, by gateway: GatewayModel) {
        let isPoisoned = loneCloses[ordinal, default: 0] >= limit
        if case .poison = gateway.fates[ordinal] {
            poisoned += 1
            check(isPoisoned || !options.isHonest, "\(ordinal) is refused before it was alone so often")
        }
        switch outcomes[ordinal] {
        case .open, .reopened: check(!wasPresumed || outcomes[ordinal] == .reopened, "\(ordinal) was not presumed")
        case .presumed: check(wasPresumed, "\(ordinal) was presumed before it was refused")
        default: check(false, "\(ordinal) got a second outcome: refused after \(outcomes[ordinal])")
        }
        if options.isHonest, options.isPunctual {
            let mayBeRefused = gateway.fates[ordinal].mayBeRefused || isPoisoned
            check(mayBeRefused, "\(ordinal) is refused though the gateway never minded it")
        }
        if wasPresumed { presumedWrong += 1 }
        outcomes[ordinal] = .refused
    }

    func silenced(_ ordinal: Int) {
        check(isOpen(ordinal), "\(ordinal) got a second outcome: silenced after \(outcomes[ordinal])")
        let hasCause = outcomes.indices.contains { other in
            UInt32(other) % options.tokens == UInt32(ordinal) % options.tokens && outcomes[other] == .refused
        }
        check(hasCause, "\(ordinal) is silenced but nothing of its token was refused")
        outcomes[ordinal] = .silenced
    }

    func wronglyPresumed(_ ordinal: Int) {
        check(outcomes[ordinal] == .presumed(bySilence: true), "\(ordinal) was not presumed: \(outcomes[ordinal])")
        check(!options.isPunctual, "\(ordinal) was presumed wrongly though answers are punctual")
        presumedWrong += 1
        outcomes[ordinal] = .reopened
    }

    // MARK: The end

    /// Checks the books when nothing is left to do.
    func close(by gateway: GatewayModel) {
        for ordinal in outcomes.indices where !released[ordinal] {
            check(!isOpen(ordinal), "\(ordinal) ended without an outcome")
            let isAccepted = gateway.acceptedCount[ordinal] > 0
            switch outcomes[ordinal] {
            case .confirmed: check(isAccepted, "\(ordinal) is confirmed but was not accepted")
            case .presumed(bySilence: true):
                check(isAccepted || !options.isPunctual, "\(ordinal) is lost: presumed, answers punctual")
            case .open, .reopened, .presumed, .unknown, .refused, .silenced: break
            }
            if options.policy != .resend, options.isPunctual {
                check(gateway.acceptedCount[ordinal] <= 1 || outcomes[ordinal] == .confirmed, "\(ordinal) sent twice")
            }
        }
        checkOrder(by: gateway)
    }

    /// Per token, the last accepted is the newest that was accepted.
    private func checkOrder(by gateway: GatewayModel) {
        guard options.isHonest else { return }
        var newest: [UInt32: UInt32] = [:]
        var last: [UInt32: UInt32] = [:]
        var isExempt: Set<UInt32> = []
        for ordinal in outcomes.indices where released[ordinal] {
            isExempt.insert(UInt32(ordinal) % options.tokens)
        }
        for ordinal in gateway.accepted {
            let token = ordinal % options.tokens
            newest[token] = max(newest[token] ?? 0, ordinal)
            last[token] = ordinal
        }
        for token in 0..<options.tokens where !isExempt.contains(token) {
            // Presumed beyond what the log retains: the counted exception of a gateway slower than the window.
            if !options.isPunctual, let newest = newest[token], outcomes[Int(newest)] == .presumed(bySilence: true) {
                continue
            }
            check(last[token] == newest[token], "token \(token): the last accepted is not the newest")
        }
    }

    private func isOpen(_ ordinal: Int) -> Bool {
        outcomes[ordinal] == .open || outcomes[ordinal] == .reopened
    }
}
