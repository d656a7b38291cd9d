import APNsProtocol

/// The faults that are on for one topic, at most one of each name, and how often each has struck.
struct FaultPlan: Sendable {
    /// What befalls the notifications of a connection, prepared so that one without faults costs two comparisons.
    struct Interruption: Sendable {
        /// Refuse the notification with this number.
        var refuseNumber = Int.max
        var refusalStatus = APNsStatus.processingError
        var refusalNamesNobody = false
        /// End the stream without a packet after so many were accepted.
        var closeAfter = Int.max
        /// Status 10 after so many were accepted.
        var shutdownAfter = Int.max
    }

    private struct Armed: Sendable {
        let behaviour: Fault.Behaviour
        /// `nil` = without end.
        var remaining: Int?
    }

    private(set) var interruption = Interruption()
    private(set) var strikes: [Fault.Name: Int] = [:]
    private var armed: [Fault.Name: Armed] = [:]

    /// Switches a fault on; one of the same name is replaced.
    mutating func arm(_ fault: Fault) {
        armed[fault.name] = Armed(behaviour: fault.behaviour, remaining: fault.times)
        refreshInterruption()
    }

    /// Switches all of them off. What has struck stays counted.
    mutating func clear() {
        armed = [:]
        refreshInterruption()
    }

    /// Notes that a fault was carried out; its last time switches it off.
    mutating func strike(_ name: Fault.Name) {
        strikes[name, default: 0] += 1
        guard let remaining = armed[name]?.remaining else { return }
        if remaining > 1 {
            armed[name]?.remaining = remaining - 1
        } else {
            armed[name] = nil
            refreshInterruption()
        }
    }

    /// How long the next answer is held back; counts as struck when it is.
    mutating func takeAnswerDelay() -> Int64 {
        guard case .answerDelay(let milliseconds)? = armed[.answerDelay]?.behaviour else { return 0 }
        strike(.answerDelay)
        return milliseconds
    }

    private mutating func refreshInterruption() {
        interruption = Interruption()
        for armed in armed.values {
            switch armed.behaviour {
            case .answerDelay: break
            case .closeAfter(let count): interruption.closeAfter = count
            case .shutdownAfter(let count): interruption.shutdownAfter = count
            case .errorResponse(let status, let every, let identifierZero):
                interruption.refuseNumber = every
                interruption.refusalStatus = status
                interruption.refusalNamesNobody = identifierZero
            }
        }
    }
}
