/// The lanes of a topic as ``AppFlow`` sees them.
public protocol AppFlowLanes {
    /// Notifications handed to a connection and not settled.
    var inFlightCount: Int { get }
    /// Notifications not yet handed to a connection, or to be sent again.
    var waitingCount: Int { get }
    /// No notification of the topic is with a gateway, and none can be: its connections are closed, or take nothing.
    var isQuiet: Bool { get }
    /// Nothing is in flight, and all that waits needs a new connection.
    var isStranded: Bool { get }
}

/// Says what a topic may do in one shard: which records it is fed, what its lanes admit, and when notifications that
/// wait in them are given up to be fed anew.
///
/// It goes by the topic's health at its gateway, which the shards of a process share; the certificate; the levers
/// of an operator; token state that is waited for; and what its lanes hold. Pure: time is an argument, effects are
/// ``Action``s, which the caller carries out in their order.
public struct AppFlow: Sendable {
    /// The mode of sending.
    public enum Sending: Equatable, Sendable {
        case all
        /// The topic has stopped, or is held back: connections are ended. Or it has no certificate any more: none is
        /// opened.
        case suspending
        /// Nothing is in flight, and unsent notifications were given up to be fed anew.
        case held
        /// This shard probes, over one lane.
        case probing
    }

    /// The limit of feeding.
    public enum Feeding: Equatable, Sendable {
        /// As much as fits.
        case all
        /// This many notifications at a time: the topic is being probed, or waits for that.
        case notifications(Int)
        /// The topic's records become dead letters, this many until the next look.
        case deadLetters(records: Int)
        /// Nothing but what ends without being sent, because an operator has discarded it.
        case discards
        case nothing
    }

    /// An effect on the topic's lanes or its health.
    public enum Action: Equatable, Sendable {
        case admitAll
        /// One notification may be in flight at a time.
        case admitProbe
        /// Nothing more goes out. Then ``suspended(_:shard:isHeld:now:lanes:)`` is to be called.
        case suspend
        /// The health is asked for the probe; if it is granted, ``probeBegan()`` is to be called.
        case beginProbe
        /// There is nothing to probe with.
        case endProbe
        /// The probe is another shard's to make.
        case leaveProbe
        /// Notifications that wait are to be given up and fed anew, then ``rewound()`` is to be called.
        case rewind
        /// People should hear that the topic has stopped, or works again.
        case tellStopped, tellWorks
    }

    /// Most notifications of a topic whose tokens are doubted that are fed for its probe.
    public static let probeSample = 20
    /// Most records of a topic without a certificate that become dead letters between two looks.
    public static let givenUpAtOnce = 20

    public private(set) var sending = Sending.all
    public private(set) var feeding = Feeding.all
    /// The bundle has a certificate. Without one no connection is opened; those that are open go on.
    public private(set) var hasCertificate = true
    /// Unsent notifications are to be fed anew under other levers of an operator.
    public private(set) var isRecalled = false
    /// Connections are to be open while the topic may send, whether anything is to be sent or not.
    public var isKeptWarm = false
    /// The generation of certificates that was looked at; nil: none, or there are none.
    private var generation: UInt64?
    /// It was an operator's will alone that the topic stopped.
    private var isHeldBack = false
    private var isPaused = false
    /// Something was sent for the topic here.
    private var hasLanes = false

    public init() {}

    /// Only a probe is fed, or what waits for one.
    public var isProbed: Bool { feeding.isForProbe }

    /// Nothing but the lanes and the age of connections brings news.
    public var isAtRest: Bool { sending == .all && hasCertificate && !isRecalled && !isPaused }

    /// Connections are to be open now though nothing is to be sent.
    public var keepsWarm: Bool { isKeptWarm && isAtRest }

    private var isHeldByOperator: Bool { isPaused || isRecalled }

    // MARK: Levers and certificates

    /// Other levers hold. A topic that is paused is fed nothing from now on.
    public mutating func use(isPaused: Bool) {
        self.isPaused = isPaused
        if isPaused { feeding = .nothing }
    }

    /// Notifications that no connection has taken are to be fed anew, under other levers. Those in flight settle.
    ///
    /// The lanes are to be suspended.
    public mutating func recall() {
        isRecalled = true
        holdBack()
    }

    /// The topic's lanes were made.
    ///
    /// - Returns: they are to be suspended.
    public mutating func lanesMade() -> Bool {
        hasLanes = true
        if isPaused { holdBack() }
        return isPaused
    }

    private mutating func holdBack() {
        if sending == .all { isHeldBack = true }
        // Records that wait for a probe are given up as well. A probe in flight settles first.
        if sending != .probing { sending = .suspending }
    }

    /// Looks whether the bundle has a certificate, if that may have changed.
    ///
    /// - Parameter generation: of all certificates; nil: they have none, so that each look counts.
    public mutating func lookAtCertificate(of generation: UInt64?, isThere: () -> Bool) {
        if let generation, generation == self.generation { return }
        self.generation = generation
        let hadCertificate = hasCertificate
        hasCertificate = isThere()
        // Records that wait for a probe are given up as well.
        if hadCertificate, !hasCertificate, sending == .held { sending = .suspending }
    }

    // MARK: Lanes

    /// Looks at the topic as time goes by.
    ///
    /// - Parameter shard: the caller's number.
    public mutating func look(_ health: AppHealth.State, shard: Int, lanes: some AppFlowLanes) -> [Action] {
        if isHeldByOperator { return [.suspend] }
        switch health {
        case .works where hasCertificate:
            guard sending != .all else { return [] }
            sending = .all
            defer { isHeldBack = false }
            return isHeldBack ? [.admitAll] : [.admitAll, .tellWorks]
        case .works:
            // Lanes with a connection go on. What waits in the others is fed anew: to be sent when a certificate comes,
            // or as dead letters.
            if sending != .held { sending = .suspending }
            return sending == .suspending && lanes.isStranded ? [.rewind] : []
        case .probing(_, shard, _):
            guard hasCertificate || lanes.inFlightCount > 0 else { return [.endProbe] }
            guard sending == .probing else {
                sending = .probing
                return []
            }
            return [.admitProbe]
        case .stopped, .probing:
            // Also if it stopped while an operator held it back.
            let isNews = sending == .all || isHeldBack && sending != .probing
            if sending == .all || sending == .probing { sending = .suspending }
            guard isNews else { return [.suspend] }
            isHeldBack = false
            return [.tellStopped, .suspend]
        }
    }

    /// Looks at lanes that were suspended.
    ///
    /// - Parameters:
    ///   - shard: the caller's number.
    ///   - isHeld: the whole worker must not send now.
    public mutating func suspended(
        _ health: AppHealth.State,
        shard: Int,
        isHeld: Bool,
        now: MonotonicTime,
        lanes: some AppFlowLanes
    ) -> [Action] {
        if isHeldByOperator {
            var actions: [Action] = []
            if case .probing(_, shard, _) = health {
                guard lanes.inFlightCount == 0 else { return [] }
                actions.append(.leaveProbe)
            }
            if sending == .probing { sending = .suspending }
            if sending == .suspending, lanes.isQuiet { actions.append(.rewind) }
            return actions
        }
        guard lanes.isQuiet else { return [] }
        if sending == .suspending { return [.rewind] }
        guard lanes.waitingCount > 0, hasCertificate, !isHeld, case .stopped(_, let until) = health, until <= now
        else { return [] }
        return [.beginProbe]
    }

    /// This shard may probe.
    public mutating func probeBegan() { sending = .probing }

    /// Unsent notifications were given up. One record may wait for a probe.
    public mutating func rewound() {
        isRecalled = false
        if sending == .suspending { sending = .held }
    }

    /// Leaves the room for records that wait for a probe to another topic.
    public mutating func giveWay() {
        if sending == .held { sending = .suspending }
    }

    // MARK: Feeding

    /// Feeds nothing until the next look: the first records of a bundle come before it.
    public mutating func waitForLook() { feeding = .nothing }

    /// Looks at what the topic may be fed.
    ///
    /// - Parameters:
    ///   - waitsForTokenState: its notifications wait for Redis while those of others pass them.
    ///   - isGivenUp: it has been without a certificate for so long that its records become dead letters.
    ///   - givesWay: it has left the room for probes to another topic.
    public mutating func feed(
        _ health: AppHealth.State,
        waitsForTokenState: Bool,
        isGivenUp: () -> Bool,
        givesWay: Bool
    ) {
        if isPaused || waitsForTokenState {
            feeding = whileHeld
        } else if hasCertificate {
            feeding = whileCertified(health)
        } else {
            feeding = isGivenUp() ? .deadLetters(records: Self.givenUpAtOnce) : whileHeld
        }
        if givesWay, isProbed { feeding = .discards }
    }

    private var whileHeld: Feeding { sending == .suspending ? .nothing : .discards }

    private func whileCertified(_ health: AppHealth.State) -> Feeding {
        // Another shard may know better where nothing was sent for the topic.
        guard hasLanes else { return health == .works ? .all : .notifications(1) }
        switch sending {
        case .all: return .all
        case .suspending: return .nothing
        case .held: return .notifications(1)
        case .probing:
            if case .probing(.tokensDoubted, _, _) = health { return .notifications(Self.probeSample) }
            return .notifications(1)
        }
    }

    /// A record became a dead letter, of those that may until the next look.
    public mutating func tookDeadLetter() {
        if case .deadLetters(let records) = feeding { feeding = .deadLetters(records: records - 1) }
    }
}

extension AppFlow.Feeding {
    /// Only a probe is fed, or what waits for one.
    public var isForProbe: Bool { if case .notifications = self { true } else { false } }
}
