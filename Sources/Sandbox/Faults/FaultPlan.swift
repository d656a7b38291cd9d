import APNsProtocol
import SeededNumbers

/// The faults that are on for one topic, prepared for the code that carries them out, and how often each has struck.
///
/// Pure: chance comes from a seed.
struct FaultPlan: Sendable {
    /// Faults that strike a connection's notifications. A connection without faults costs two comparisons.
    struct Interruption: Sendable {
        /// Refusing is considered for notifications whose number is a multiple of this; `Int.max` = for none.
        var refusalStep = Int.max
        /// The fault that ends the stream after ``endAfter`` accepted notifications.
        var ending = Fault.Name.closeAfter
        var endAfter = Int.max
        /// Stop reading after so many were accepted, once for each arming.
        var stallAfter = Int.max
        var stallArming = 0
        /// A notification without token is not answered.
        var silencesSentinel = false
    }

    /// The pace at which connections are read.
    struct Reading: Sendable, Equatable {
        var roundTripMilliseconds: Int64 = 0
        /// 0 = as fast as it goes.
        var bytesPerSecond = 0
    }

    /// A stop that a connection makes.
    struct Stall: Sendable, Equatable {
        /// `nil` = without end.
        let milliseconds: Int64?
        /// Number of times `stall-after` was cleared before: once more ends it.
        let clearings: Int
    }

    private var armed = ArmedFaults()
    private var random: SeededGenerator
    private let salt: UInt64
    private var openConnections = 0

    private(set) var interruption = Interruption()
    private(set) var reading = Reading()
    /// Meaningful while ``Interruption/refusalStep`` is not `Int.max`.
    private(set) var refusal = Fault.Refusal()
    private(set) var requests = RequestFaults()

    /// - Parameter salt: the topic's, so that one seed gives each topic numbers of its own.
    init(salt: UInt64 = 0) {
        self.salt = salt
        random = SeededGenerator(seed: salt)
    }

    /// Since the start, of each fault that was ever on.
    var strikes: [Fault.Name: Int] { armed.strikes }

    /// The faults that are on, by name.
    var listed: [ArmedFaults.Entry] { armed.listed }

    /// Begins the sequence of chances anew.
    mutating func seed(_ seed: UInt64) {
        random = SeededGenerator(seed: seed ^ salt)
    }

    /// Switches a fault on; one of the same name is replaced.
    mutating func arm(_ fault: Fault) {
        precondition(!fault.name.isOfTheDoor, "\(fault.name.rawValue) is not a topic's")
        armed.arm(fault)
        prepare()
    }

    /// Switches one off, or (`nil`) all of them. What has struck stays counted.
    mutating func clear(_ name: Fault.Name? = nil) {
        armed.clear(name)
        prepare()
    }

    /// See ``ArmedFaults/clearings(of:)``.
    func clearings(of name: Fault.Name) -> Int {
        armed.clearings(of: name)
    }

    /// Notes that a fault was carried out; its last time switches it off.
    mutating func strike(_ name: Fault.Name) {
        if armed.strike(name) { prepare() }
    }

    private mutating func prepare() {
        interruption = Interruption()
        reading = Reading()
        requests = RequestFaults()
        for entry in armed.listed {
            requests.add(entry)
            switch entry.fault.behaviour {
            case .errorResponse(let refusal):
                self.refusal = refusal
                if case .every(let step) = refusal.selection {
                    interruption.refusalStep = step
                } else {
                    interruption.refusalStep = 1
                }
            case .closeAfter(let count), .resetAfter(let count), .shutdownAfter(let count), .silenceAfter(let count):
                // Of two with the same count the first by name is carried out.
                guard count < interruption.endAfter else { break }
                interruption.endAfter = count
                interruption.ending = entry.fault.name
            case .stallAfter(let count, _):
                interruption.stallAfter = count
                interruption.stallArming = entry.arming
            case .sentinelSilence:
                interruption.silencesSentinel = true
            case .roundTrip(let milliseconds):
                reading.roundTripMilliseconds = milliseconds
            case .slowReader(let bytesPerSecond):
                reading.bytesPerSecond = bytesPerSecond
            case .answerDelay, .answerShuffle, .connectRateLimit, .connectionLimit, .feedbackCut, .goAwayAfter,
                .muteAfter, .refuseCertificates, .refuseConnects, .refuseHandshakes, .requestError, .streamCollapse,
                .streamLimit, .streamReset, .tokenClock, .windowSize, .windowStall:
                break
            }
        }
    }
}

// MARK: What is asked when it matters

extension FaultPlan {
    /// The fault refuses this notification, for which refusing is considered.
    ///
    /// - Parameter instance: what its token names, `nil` for a token that is not of this topic.
    mutating func refuses(_ instance: AppInstance?) -> Bool {
        selects(instance, refusal.selection)
    }

    /// A fault is for this notification, for which it is considered.
    mutating func selects(_ instance: AppInstance?, _ selection: Fault.Refusal.Selection) -> Bool {
        switch selection {
        case .every: true
        case .probability(let probability): random.happens(probability)
        case .instances(let instances): instance.map(instances.contains) ?? false
        }
    }

    /// Milliseconds for which the next answer is held back. The fault has struck when it is.
    mutating func takeAnswerDelay() -> Int64 {
        guard case .answerDelay(let milliseconds)? = armed[.answerDelay]?.fault.behaviour else { return 0 }
        strike(.answerDelay)
        return milliseconds
    }

    /// Milliseconds for which the next answer of the provider API is held back. The faults have struck that do so.
    mutating func takeRequestDelay() -> Int64 {
        var delay = takeAnswerDelay()
        let shuffle = requests.shuffleMilliseconds
        if shuffle > 0 {
            delay += Int64.random(in: 0...shuffle, using: &random)
            strike(.answerShuffle)
        }
        return delay
    }

    /// A stall begins now; counts as struck.
    mutating func takeStall() -> Stall {
        guard case .stallAfter(_, let milliseconds)? = armed[.stallAfter]?.fault.behaviour else {
            preconditionFailure("a stall that nobody asked for")
        }
        strike(.stallAfter)
        return Stall(milliseconds: milliseconds, clearings: armed.clearings(of: .stallAfter))
    }

    /// After how many bytes a feedback stream of `total` ends before its end, if it does; counts as struck then.
    mutating func takeFeedbackCut(of total: Int) -> Int? {
        guard case .feedbackCut(let bytes)? = armed[.feedbackCut]?.fault.behaviour, bytes < total else { return nil }
        strike(.feedbackCut)
        return bytes
    }

    /// A gateway connection has shaken hands.
    ///
    /// - Returns: whether it may stay, in which case ``releaseConnection()`` has to follow; if not, that has struck.
    mutating func admitConnection() -> Bool {
        if case .connectionLimit(let count)? = armed[.connectionLimit]?.fault.behaviour, openConnections >= count {
            strike(.connectionLimit)
            return false
        }
        openConnections += 1
        return true
    }

    /// A connection that was admitted has ended.
    mutating func releaseConnection() {
        precondition(openConnections > 0, "more connections ended than began")
        openConnections -= 1
    }
}

extension SeededGenerator {
    /// True with a probability of 0...1: never for 0, always for 1.
    fileprivate mutating func happens(_ probability: Double) -> Bool {
        Double(next() >> 11) * 0x1p-53 < probability
    }
}
