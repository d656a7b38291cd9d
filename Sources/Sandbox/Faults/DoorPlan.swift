/// The faults that strike before the topic is known: at the door, for the service as a whole.
///
/// Pure: the time is an argument.
struct DoorPlan: Sendable {
    /// The fate of a connection that was taken.
    enum Verdict: Equatable, Sendable {
        case admit
        case reset
        case refuseHandshake
        case refuseCertificate
    }

    private var armed = ArmedFaults()
    private var rateLimit: ConnectRateLimit?
    /// Seconds that the clock for provider tokens is ahead.
    private(set) var tokenClockSeconds = 0

    /// Since the start, of each fault that was ever on.
    var strikes: [Fault.Name: Int] { armed.strikes }

    /// The faults that are on, by name.
    var listed: [ArmedFaults.Entry] { armed.listed }

    /// Switches a fault on; one of the same name is replaced.
    mutating func arm(_ fault: Fault) {
        precondition(fault.name.isOfTheDoor, "\(fault.name.rawValue) is a topic's")
        armed.arm(fault)
        if case .connectRateLimit(let perMinute) = fault.behaviour {
            rateLimit = ConnectRateLimit(perMinute: perMinute)
        }
        if case .tokenClock(let seconds) = fault.behaviour { tokenClockSeconds = seconds }
    }

    /// Switches one off, or (`nil`) all of them. What has struck stays counted.
    mutating func clear(_ name: Fault.Name? = nil) {
        armed.clear(name)
        if armed[.connectRateLimit] == nil { rateLimit = nil }
        if armed[.tokenClock] == nil { tokenClockSeconds = 0 }
    }

    /// A provider token has expired by the clock that is wrong.
    mutating func strikeTokenClock() {
        if armed.strike(.tokenClock) { tokenClockSeconds = 0 }
    }

    /// Judges a connection that was just taken; a fault that befalls it has struck.
    ///
    /// - Parameter now: nanoseconds of a clock that never goes back.
    mutating func judge(now: Int64) -> Verdict {
        if takes(.refuseConnects) { return .reset }
        if armed[.connectRateLimit] != nil, rateLimit?.admits(now: now) == false {
            _ = armed.strike(.connectRateLimit)
            return .reset
        }
        if takes(.refuseHandshakes) { return .refuseHandshake }
        if takes(.refuseCertificates) { return .refuseCertificate }
        return .admit
    }

    private mutating func takes(_ name: Fault.Name) -> Bool {
        guard armed[name] != nil else { return false }
        _ = armed.strike(name)
        return true
    }
}
