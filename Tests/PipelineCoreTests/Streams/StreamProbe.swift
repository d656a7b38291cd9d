import APNsProtocol

@testable import PipelineCore

/// Drives one queue by hand: a clock, published ordinals, connections that take every request.
final class StreamProbe {
    /// A verdict with the ordinal of its notification in place of the slot.
    struct Verdict: Equatable {
        var ordinal: UInt32
        var result: StreamVerdict.Result
        var finding = StreamVerdict.Finding.none

        init(_ ordinal: UInt32, _ result: StreamVerdict.Result, _ finding: StreamVerdict.Finding = .none) {
            self.ordinal = ordinal
            self.result = result
            self.finding = finding
        }
    }

    static let requestTimeout = Duration.seconds(10)
    static let retryFor = Duration.seconds(60)
    static let pause = StreamQueue.pauseAfterFinding

    var queue: StreamQueue
    var now = MonotonicTime(nanoseconds: 1_000_000_000)
    let content: UInt32
    /// The ticket of the latest sending, by ordinal.
    private(set) var tickets: [UInt32: StreamTicket] = [:]
    private var ordinals: [StreamTicket: UInt32] = [:]
    private(set) var published: UInt32 = 0
    private var stream: Int32 = -1

    /// Without jitter: random bits are 0, so a wait is the floor of its back-off.
    ///
    /// Never inlined: the optimizer of Swift 6.3.1 crashes on tests that take it in.
    @inline(never)
    init(
        unknownFate: UnknownFatePolicy = .resend,
        inFlight: Int = 1000,
        serviceAttempts: Int = 30,
        loneCloses: Int = 5,
        number: UInt16 = 0
    ) {
        queue = StreamQueue(
            number: number,
            limits: StreamLimits(
                unknownFate: unknownFate,
                inFlight: inFlight,
                requestTimeout: Self.requestTimeout,
                backoff: Backoff(base: .seconds(1), cap: .seconds(60), floor: .seconds(1)),
                retryFor: Self.retryFor,
                serviceAttempts: serviceAttempts,
                loneCloses: loneCloses
            )
        )
        content = queue.addContent()
    }

    var inFlight: Int { queue.inFlightCount }
    var waiting: Int { queue.waitingCount }
    var isDrained: Bool { queue.isDrained }
    var capacity: Int { queue.capacity }
    var looks: Int { queue.looks }
    var settledEnd: UInt64 { queue.settledEnd }
    var wakesAt: MonotonicTime? { queue.wakesAt }
    var needsOwnConnections: Bool { queue.needsOwnConnections(now: now) }
    var barrier: UInt64 { queue.barrier }
    var isResting: Bool { queue.isResting }
    var admission: Admission { queue.admission }
    /// Ordinals and counts of the troubled notifications.
    var troubles: [UInt32: NotificationTrouble] {
        Dictionary(uniqueKeysWithValues: queue.troubles(assignment: 1).map { ($0.0.token, $0.1) })
    }
    var unusedContent: UInt32? { queue.takeUnusedContent() }

    func hasPassed(_ barrier: UInt64) -> Bool { queue.hasPassed(barrier) }

    func rest() -> Bool { queue.rest(now: now) }

    func pass(_ duration: Duration) {
        now = now + duration
    }

    // MARK: Taking in

    static func token(_ number: UInt32, bytes: Int = 32) -> [UInt8] {
        withUnsafeBytes(of: number.bigEndian, Array.init) + Array(repeating: 7, count: bytes - 4)
    }

    /// Publishes notifications, each to a token of its own unless one is given.
    func publish(
        _ count: Int = 1,
        token: UInt32? = nil,
        bytes: Int = 32,
        checksum: UInt32? = nil,
        assignment: UInt32 = 1,
        content: UInt32? = nil
    ) {
        for _ in 0..<count {
            let number = token ?? 1000 + published
            let reference = NotificationReference(assignment: assignment, record: 0, token: published)
            append(reference, Self.token(number, bytes: bytes), checksum ?? number, content ?? self.content)
            published += 1
        }
    }

    private func append(
        _ reference: NotificationReference,
        _ token: [UInt8],
        _ checksum: UInt32,
        _ content: UInt32
    ) {
        token.withUnsafeBytes { queue.append(reference, token: $0, checksum: checksum, content: content) }
    }

    // MARK: Sending

    /// Sends what may go, at most so many requests; returns their ordinals.
    @discardableResult
    func send(_ limit: Int = .max, connection: UInt32 = 1) -> [UInt32] {
        var sent: [UInt32] = []
        while sent.count < limit, let ticket = queue.next(now: now) {
            let ordinal = queue.reference(at: ticket.slot).token
            stream += 2
            queue.sent(ticket, connection: connection, stream: stream, now: now)
            tickets[ordinal] = ticket
            ordinals[ticket] = ordinal
            sent.append(ordinal)
        }
        return sent
    }

    /// The ordinal that would go next.
    var next: UInt32? { queue.next(now: now).map { queue.reference(at: $0.slot).token } }

    // MARK: Results

    @discardableResult
    func answer(
        _ ordinal: UInt32,
        _ answer: ProviderVerdict = .accepted,
        slowsConnection: Bool = false
    ) -> Verdict? {
        guard let ticket = tickets[ordinal] else { return nil }
        let verdict = queue.answered(ticket, answer, slowsConnection: slowsConnection, now: now, random: 0)
        return verdict.map { take($0) }
    }

    @discardableResult
    func close(_ ordinal: UInt32, isRefused: Bool) -> Verdict? {
        guard let ticket = tickets[ordinal] else { return nil }
        return queue.closed(ticket, isRefused: isRefused, now: now, random: 0).map { take($0) }
    }

    /// Takes all requests whose time is over.
    func timeOut(isPassedOver: Bool = false) -> [Verdict] {
        var verdicts: [Verdict] = []
        while let ticket = queue.nextTimedOut(now: now) {
            guard let verdict = queue.timedOut(ticket, isPassedOver: isPassedOver, now: now, random: 0) else { break }
            verdicts.append(take(verdict, ordinals[ticket]))
        }
        return verdicts
    }

    /// The connection ends.
    ///
    /// - Parameters:
    ///   - others: requests of other queues in flight on it.
    ///   - sharers: queues with requests on it, if several use it.
    @discardableResult
    func lose(
        _ connection: UInt32 = 1,
        isSilent: Bool = true,
        isUnread: Bool = false,
        others: Int = 0,
        sharers: Int = 0
    ) -> [Verdict] {
        let mine = queue.slotsInFlight(on: connection)
        let references = Dictionary(uniqueKeysWithValues: mine.map { ($0, queue.reference(at: $0).token) })
        let loss = StreamLoss(
            connection: connection,
            openedAt: MonotonicTime(nanoseconds: 0),
            endedAt: now,
            isSilent: isSilent,
            isUnread: isUnread,
            inFlight: mine.count + others,
            sharers: sharers
        )
        return queue.lost(loss).map { take($0, references[$0.slot]) }
    }

    /// Reads a verdict and releases its notification.
    private func take(_ verdict: StreamVerdict, _ known: UInt32? = nil) -> Verdict {
        let ordinal = known ?? queue.reference(at: verdict.slot).token
        if verdict.isFinal { queue.release(verdict.slot) }
        return Verdict(ordinal, verdict.result, verdict.finding)
    }

    func discard(token: UInt32, checksum: UInt32? = nil) -> [UInt32] {
        Self.token(token).withUnsafeBytes { queue.discard(checksum: checksum ?? token, token: $0) }.map(\.token)
    }
}
