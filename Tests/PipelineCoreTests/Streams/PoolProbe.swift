import APNsProtocol

@testable import PipelineCore

/// Drives one pool by hand: a clock, connections that open at once, requests without a queue.
final class PoolProbe {
    static let peerTimeout = Duration.seconds(10)

    var pool: StreamPool
    var now = MonotonicTime(nanoseconds: 1_000_000_000)
    /// The latest stream of each connection.
    private var streams: [UInt32: Int32] = [:]

    /// Without jitter: random bits are 0, so a wait is the floor of its back-off.
    init(
        connections: Int = 4,
        startsWithOneStream: Bool = false,
        connectionMaxAge: Duration? = nil,
        idleTimeout: Duration = .seconds(7200)
    ) {
        pool = StreamPool(
            limits: StreamPoolLimits(
                connections: connections,
                startsWithOneStream: startsWithOneStream,
                peerTimeout: Self.peerTimeout,
                idleTimeout: idleTimeout,
                connectionMaxAge: connectionMaxAge,
                backoff: Backoff(base: .seconds(1), cap: .seconds(60), floor: .seconds(1)),
                topicBackoff: Backoff(base: .seconds(30), cap: .seconds(60), floor: .seconds(30))
            )
        )
    }

    func pass(_ duration: Duration) {
        now = now + duration
    }

    var openCount: Int { pool.openCount }
    var inFlight: Int { pool.inFlightCount }
    var isEmpty: Bool { pool.isEmpty }
    var isWaitingForBudget: Bool { pool.isWaitingForBudget }
    var wanted: ConnectionBudget.Purpose? { pool.wantsConnection(now: now) }
    var numbers: [UInt32] { pool.connections.map(\.number) }

    func phase(_ number: UInt32) -> PooledConnection.Phase? { pool.connection(number)?.phase }
    func isConnecting(_ number: UInt32) -> Bool { pool.isConnecting(number) }
    func openStreams(_ number: UInt32) -> Int? { pool.connection(number)?.openStreams }

    // MARK: Connections

    /// A request waits for a stream, or none does.
    func wait(_ isWaiting: Bool = true) {
        pool.pumped(isWaiting: isWaiting, now: now)
    }

    /// Opens a connection, wanted or not.
    @discardableResult
    func open(streams: Int = 100, random: UInt64 = 0) -> UInt32 {
        let number = pool.connecting(now: now)
        pool.opened(number, streams: streams, now: now, random: random)
        return number
    }

    /// New connections are opened with a credential of this edition; the others are due at once.
    func setEdition(_ edition: UInt64, random: UInt64 = 0) {
        pool.noteEdition(edition, now: now) { random }
    }

    func isOnTrial(_ number: UInt32) -> Bool { pool.index(of: number).map { pool.isOnTrial($0) } ?? false }
    func takeRotations() -> [StreamPool.Rotation] { pool.takeRotations() }

    @discardableResult
    func end(_ number: UInt32, _ end: ConnectionEnd = .failed) -> StreamLoss? {
        pool.ended(number, end, now: now, random: 0)
    }

    func goAway(_ number: UInt32, _ reason: ProviderReason? = nil, isError: Bool = false) -> ProviderVerdict.Extent? {
        pool.goAway(number, reason: reason, isError: isError, now: now, random: 0)
    }

    /// The steps that are due; ends are carried out.
    func steps() -> [StreamStep] {
        var steps: [StreamStep] = []
        while let step = pool.nextStep(now: now), steps.count < 100 {
            steps.append(step)
            if case .end(let number, let end) = step { self.end(number, end) }
        }
        return steps
    }

    // MARK: Requests

    /// Sends requests over the chosen connections, one choice each; returns the connections.
    @discardableResult
    func send(_ count: Int = 1) -> [UInt32] {
        var chosen: [UInt32] = []
        while chosen.count < count, let choice = pool.choose(now: now) {
            streams[choice.connection, default: -1] += 2
            pool.streamOpened(choice.connection, now: now)
            chosen.append(choice.connection)
        }
        return chosen
    }

    /// Answers requests of a connection, the oldest first, and ends their streams.
    func answer(_ number: UInt32, _ answer: ProviderVerdict = .accepted, _ count: Int = 1) {
        pool.heard(number, now: now)
        for _ in 0..<count {
            pool.answered(number, stream: streams[number] ?? 1, answer, now: now, random: 0)
            pool.streamClosed(number, isRefused: false, now: now, random: 0)
        }
    }

    func refuse(_ number: UInt32, _ count: Int = 1) {
        for _ in 0..<count { pool.streamClosed(number, isRefused: true, now: now, random: 0) }
    }

    func timeOut(_ number: UInt32, stream: Int32 = 1) -> Bool {
        pool.timedOut(number, stream: stream, now: now, random: 0)
    }

    /// Streams that a connection would take now, if it were chosen.
    func room(_ number: UInt32) -> Int {
        var taken = 0
        while let choice = pool.choose(now: now), choice.connection == number {
            pool.streamOpened(number, now: now)
            taken += 1
        }
        for _ in 0..<taken { pool.streamClosed(number, isRefused: false, now: now, random: 0) }
        return taken
    }
}
