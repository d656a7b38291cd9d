import NIOCore

/// Decides everything about one ``RedisConnection``: when to connect, which commands to send, the command of each
/// reply. It also decides on each command when the connection dies. It has no socket, no clock and no dice: time is an
/// argument, and the caller chooses the length of a back-off.
///
/// Each command is in one of two parts of a queue, in the order of sending:
/// - *waiting*: encoded, not handed to the channel. It has definitely not run, survives a lost connection, and goes out
///   on the next.
/// - *in flight*: handed to the channel, so it may have run; the next reply belongs to the oldest. It never survives a
///   lost connection.
///
/// A command that a server which has to be a master refused as a replica has not run either: it waits again, in order.
///
/// A command leaves through exactly one returned action, with its completion; the machine calls nothing back.
///
/// `Completion` is any value that the caller wants back with the outcome.
struct RedisConnectionStateMachine<Completion> {
    struct Settings {
        /// The commands that open a connection, sent together; their replies come before any other.
        var handshake: [HandshakeStep]
        /// Applies twice to one command, from its sending to its flush and from its flush to its reply.
        var commandTimeout: TimeAmount?
        /// Longest time from the established connection to the last reply of the handshake.
        var handshakeTimeout: TimeAmount
        var waitingLimitCommands: Int
        var waitingLimitBytes: Int
        var inFlightLimitCommands: Int
    }

    typealias HandshakeStep = RedisHandshake.Step

    private enum State {
        /// Before the start. Next: connecting, closed.
        case idle
        /// A connection is being made. Next: handshaking, backingOff, closed.
        case connecting
        /// Connected, the handshake is not over. Next: ready, backingOff, closed.
        case handshaking(deadline: NIODeadline)
        /// Commands flow. Next: handshaking, leaving, backingOff, closed.
        case ready
        /// The server is a replica. It answers what is in flight, and is sent nothing more. Next: backingOff, closed.
        case leaving
        /// Waiting to try again. Next: connecting, closed.
        case backingOff
        /// The owner is done. Final.
        case closed
    }

    private struct Entry {
        var completion: Completion
        var byteCount: Int
        /// It waits until then at most.
        var deadline: NIODeadline
    }

    /// Commands that were handed to the channel together.
    private struct Flight {
        /// The commands without a reply.
        var count = 0
        /// Their replies are due then: a command that waited long for a connection must not end the new one by timing
        /// out at once.
        var deadline = NIODeadline.distantFuture
    }

    typealias Failed = (completion: Completion, error: RedisError)

    private let settings: Settings
    private var state = State.idle
    /// First those in flight, then those that wait: a flush moves none.
    private var commands = CircularBuffer<Entry>()
    private(set) var inFlightCount = 0
    private(set) var waitingBytes = 0
    /// The flight of the oldest command; empty if none is in flight.
    private var oldestFlight = Flight()
    private var laterFlights = CircularBuffer<Flight>()
    private var flushIsScheduled = false
    /// The handshake of the present connection, or of the last.
    private var handshake = RedisHandshake([])
    private(set) var demandsMaster = false
    /// Commands that the server, which is being left, refused as a replica: in front of those that wait.
    private var returned: [Entry] = []
    /// The reason for leaving the server, kept until a connection is lost for another.
    private var departure: String?
    /// Failures in a row since commands last flowed.
    private var attempt = 0
    private var lastLoss = "not connected yet"

    init(settings: Settings) {
        precondition(settings.handshake.last == .ping && settings.inFlightLimitCommands > 0)
        self.settings = settings
    }

    var waitingCount: Int { commands.count - inFlightCount }

    var isReady: Bool {
        if case .ready = state { true } else { false }
    }

    var isClosed: Bool {
        if case .closed = state { true } else { false }
    }

    /// The latest time at which ``timerFired(now:)`` has something to do; nil: nothing is pending.
    var nextDeadline: NIODeadline? {
        // Both parts of the queue are in the order of their deadlines: the time-out is the same for all.
        var earliest = NIODeadline.distantFuture
        if case .handshaking(let deadline) = state { earliest = deadline }
        if waitingCount > 0 { earliest = min(earliest, commands[offset: inFlightCount].deadline) }
        if inFlightCount > 0 { earliest = min(earliest, oldestFlight.deadline) }
        return earliest == .distantFuture ? nil : earliest
    }
}

// MARK: - The connection

extension RedisConnectionStateMachine {
    /// The consequences of a lost connection. Wait for the back-off of this attempt, then ``backOffElapsed()``.
    struct Loss {
        /// Failures in a row, from 1 on.
        var attempt: Int
        var failed: [Failed]
    }

    enum ConnectedAction {
        /// Send the commands of the handshake.
        case shakeHands([HandshakeStep])
        /// The channel is not wanted any more.
        case close
    }

    /// Returns true if the shell is to connect; starting twice, or after the close, is harmless.
    mutating func start() -> Bool {
        guard case .idle = state else { return false }
        state = .connecting
        return true
    }

    mutating func connected(now: NIODeadline) -> ConnectedAction {
        // Any other state: closed in the meantime.
        guard case .connecting = state else { return .close }
        let steps = demandsMaster ? Array(settings.handshake.dropLast()) + [.role, .ping] : settings.handshake
        return .shakeHands(begin(steps, now: now))
    }

    private mutating func begin(_ steps: [HandshakeStep], now: NIODeadline) -> [HandshakeStep] {
        handshake = RedisHandshake(steps)
        state = .handshaking(deadline: now + settings.handshakeTimeout)
        return steps
    }

    /// From now on the server has to be a master. Returns the commands to send now: the present server is asked before
    /// it is sent anything else. Empty if there is none, or one that has commands to answer.
    mutating func demandMaster(now: NIODeadline) -> [HandshakeStep] {
        demandsMaster = true
        guard case .ready = state, inFlightCount == 0 else { return [] }
        return begin([.role, .ping], now: now)
    }

    /// Handles a connection that died, or could not be made. Returns nil if that was known.
    mutating func lost(reason: String) -> Loss? {
        lose(reason: reason) { _ in .maybeExecuted(reason: reason) }
    }

    /// Returns true if the shell is to connect.
    mutating func backOffElapsed() -> Bool {
        guard case .backingOff = state else { return false }
        state = .connecting
        return true
    }

    /// Returns the commands that now fail. Closing twice is harmless.
    mutating func close() -> [Failed] {
        state = .closed
        let inFlight = takeInFlight { _ in .maybeExecuted(reason: "the connection was closed") }
        return inFlight + takeWaiting().map { Failed($0.completion, .closed) }
    }

    private mutating func lose(reason: String, _ error: (_ deadline: NIODeadline) -> RedisError) -> Loss? {
        switch state {
        case .connecting, .handshaking, .ready, .leaving:
            if case .leaving = state {} else { departure = nil }
            state = .backingOff
            attempt += 1
            lastLoss = reason
            let failed = takeInFlight(error)
            putBack()
            return Loss(attempt: attempt, failed: failed)
        case .idle, .backingOff, .closed:
            return nil
        }
    }
}

// MARK: - Commands

extension RedisConnectionStateMachine {
    /// Admits another command for encoding: nil, or the error. A single command may overshoot the limit of bytes.
    func admit() -> RedisError? {
        if isClosed { return .closed }
        if waitingCount >= settings.waitingLimitCommands || waitingBytes >= settings.waitingLimitBytes {
            let cause = isReady ? "the server is slow" : lastLoss
            return .notSent(reason: "\(waitingCount) commands (\(waitingBytes) bytes) are waiting: \(cause)")
        }
        return nil
    }

    /// Takes an admitted command of `byteCount` bytes. Returns true if a ``flush(now:isWritable:)`` is to be scheduled
    /// for the end of this turn of the event loop: commands of one turn leave together.
    mutating func enqueue(_ completion: Completion, byteCount: Int, now: NIODeadline) -> Bool {
        commands.append(Entry(completion: completion, byteCount: byteCount, deadline: deadline(after: now)))
        waitingBytes += byteCount
        guard isReady, !flushIsScheduled else { return false }
        flushIsScheduled = true
        return true
    }

    /// Moves commands from waiting to in flight. Returns the number of waiting bytes to hand to the channel now.
    mutating func flush(now: NIODeadline, isWritable: Bool) -> Int {
        flushIsScheduled = false
        guard isReady, isWritable else { return 0 }
        let count = min(waitingCount, settings.inFlightLimitCommands - inFlightCount)
        guard count > 0 else { return 0 }
        let byteCount = count == waitingCount ? waitingBytes : bytesOfWaiting(first: count)
        let flight = Flight(count: count, deadline: deadline(after: now))
        if inFlightCount == 0 { oldestFlight = flight } else { laterFlights.append(flight) }
        inFlightCount += count
        waitingBytes -= byteCount
        return byteCount
    }

    private func bytesOfWaiting(first count: Int) -> Int {
        (inFlightCount..<inFlightCount + count).reduce(0) { $0 + commands[offset: $1].byteCount }
    }

    /// Gives up the commands that are waiting, in their order, with their sizes: they have definitely not run.
    mutating func takeWaiting() -> [(completion: Completion, byteCount: Int)] {
        let taken = (returned + commands.dropFirst(inFlightCount)).map { ($0.completion, $0.byteCount) }
        commands.removeLast(waitingCount)
        waitingBytes = 0
        returned = []
        return taken
    }

    /// Lets the returned commands wait again, before all others. None is in flight.
    private mutating func putBack() {
        guard !returned.isEmpty else { return }
        waitingBytes += returned.reduce(0) { $0 + $1.byteCount }
        commands = CircularBuffer(returned + commands)
        returned = []
    }

    /// Takes the oldest command in flight; nil: there is none.
    private mutating func takeOldest() -> Entry? {
        guard inFlightCount > 0 else { return nil }
        inFlightCount -= 1
        oldestFlight.count -= 1
        if oldestFlight.count == 0, let next = laterFlights.popFirst() { oldestFlight = next }
        return commands.removeFirst()
    }

    /// Gives up the commands in flight, each with the error that follows from the time at which its reply was due.
    private mutating func takeInFlight(_ error: (_ deadline: NIODeadline) -> RedisError) -> [Failed] {
        var failed: [Failed] = []
        failed.reserveCapacity(inFlightCount)
        while inFlightCount > 0 {
            let deadline = oldestFlight.deadline
            if let entry = takeOldest() { failed.append((entry.completion, error(deadline))) }
        }
        return failed
    }

    private func deadline(after now: NIODeadline) -> NIODeadline {
        settings.commandTimeout.map { now + $0 } ?? .distantFuture
    }
}

// MARK: - Replies and time

extension RedisConnectionStateMachine {
    enum ReplyAction {
        /// The reply belongs to this command of `byteCount` bytes.
        case complete(Completion, byteCount: Int)
        /// The server did not run the oldest command, of `byteCount` bytes: it is kept for the next server, behind
        /// those kept before.
        case keep(byteCount: Int)
        /// The reply tells the server's role: say it by ``toldRole(isReplica:)``.
        case role
        /// The server is a replica, and has to be a master: drop the connection.
        case replica
        /// The reply is one of the handshake; more are to come.
        case none
        /// The handshake is done: flush the waiting commands.
        case ready
        /// The server refuses the login: drop the connection.
        case refused(HandshakeStep, RedisError)
        /// No command is open for this reply: the stream cannot be trusted, drop the connection.
        case unsolicited
    }

    /// A reply arrived; `error` is set for an error reply.
    mutating func replied(error: RedisError?) -> ReplyAction {
        switch state {
        case .handshaking:
            return follow(handshake.replied(error: error))
        case .ready, .leaving:
            guard let entry = takeOldest() else { return .unsolicited }
            guard demandsMaster, let error, error.isOfReplica else {
                return .complete(entry.completion, byteCount: entry.byteCount)
            }
            leave(because: "\(error)")
            returned.append(entry)
            return .keep(byteCount: entry.byteCount)
        case .idle, .connecting, .backingOff, .closed:
            // The shell hears only the channel of the present connection.
            preconditionFailure("a reply without a connection")
        }
    }

    /// The server has told its role in the handshake.
    mutating func toldRole(isReplica: Bool) -> ReplyAction {
        isReplica ? .replica : follow(handshake.toldMaster())
    }

    private mutating func follow(_ progress: RedisHandshake.Progress) -> ReplyAction {
        switch progress {
        case .more: return .none
        case .role: return .role
        case .refused(let step, let error): return .refused(step, error)
        case .done:
            state = .ready
            // A server that does not tell its role may be the same replica again: the back-off goes on growing.
            if handshake.isOfMaster || departure == nil { attempt = 0 }
            return .ready
        }
    }

    /// The server has turned out to be a replica. Nothing happens if it is being left, or is no longer there.
    mutating func foundReplica() {
        leave(because: "INFO tells so")
    }

    /// Set when the server that is being left has answered the last command in flight: drop the connection.
    var departed: String? {
        guard case .leaving = state, inFlightCount == 0 else { return nil }
        return departure
    }

    private mutating func leave(because reason: String) {
        guard case .ready = state else { return }
        state = .leaving
        departure = "the server is a replica: \(reason)"
    }

    struct TimerAction {
        /// Commands that waited too long for a connection.
        var expired: [Failed] = []
        /// The bytes of these commands at the front of the waiting ones.
        var expiredBytes = 0
        /// The server has been silent for too long: drop the connection.
        var loss: (reason: String, Loss)?
    }

    mutating func timerFired(now: NIODeadline) -> TimerAction {
        var action = TimerAction()
        let cause = isReady ? "the server is slow" : lastLoss
        for entry in commands.dropFirst(inFlightCount).prefix(while: { $0.deadline <= now }) {
            action.expiredBytes += entry.byteCount
            action.expired.append(Failed(entry.completion, .notSent(reason: "waited too long: \(cause)")))
        }
        if inFlightCount == 0 {
            // Moves no entry: while a server is away thousands wait, and a few expire at a time.
            commands.removeFirst(action.expired.count)
        } else if !action.expired.isEmpty {
            let first = commands.index(commands.startIndex, offsetBy: inFlightCount)
            commands.removeSubrange(first..<commands.index(first, offsetBy: action.expired.count))
        }
        waitingBytes -= action.expiredBytes
        if let reason = silence(now: now) {
            let timeout = settings.commandTimeout
            action.loss = lose(reason: reason) { deadline in
                guard let timeout, deadline <= now else {
                    return .maybeExecuted(reason: reason)
                }
                return .timeout(after: timeout)
            }.map { (reason, $0) }
        }
        return action
    }

    private func silence(now: NIODeadline) -> String? {
        if case .handshaking(let deadline) = state, deadline <= now {
            return "no answer to the login within \(settings.handshakeTimeout.nanoseconds / 1_000_000) ms"
        }
        guard let timeout = settings.commandTimeout, inFlightCount > 0, oldestFlight.deadline <= now else {
            return nil
        }
        return "no reply within \(timeout.nanoseconds / 1_000_000) ms"
    }
}
