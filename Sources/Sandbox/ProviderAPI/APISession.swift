import APNsProtocol
import HTTP2Transport
import NIOCore
import TLSTransport

/// One connection to the provider API, from the end of its handshake: which requests are accepted, what is answered,
/// when it ends. Every request is answered in the call that completes it, unless a fault holds the answer back.
///
/// ```
/// connection ──▶ receive(_:now:) ──▶ takeOutput(into:) ──▶ connection, until outlook changes
///      clock ──▶ wake(now:) at nextWake ──▶ takeOutput(into:)
/// ```
///
/// Without sockets and clocks; what is accepted changes the topics' ledgers, each of which is locked once for a row of
/// requests. Belongs to one thread at a time.
final class APISession {
    /// The time of a call, by both clocks.
    struct Time: Sendable {
        let clock: NIODeadline
        let unixSeconds: UInt32
    }

    /// The next step of the connection.
    enum Outlook: Equatable {
        case open
        /// Close it behind the last output.
        case finished
        /// Reset it.
        case cut
    }

    /// Bytes that tell HTTP/2's preface from a method of HTTP/1.
    private static let openingBytes = 4

    private let service: PushService
    private let http: HTTP2ServerSession
    private var authentication: APIAuthentication
    private var reader: APIRequestReader
    private var answers: APIAnswers
    private var progress = APIProgress()
    private var held = HeldAnswers()
    private var shaping: APIShaping
    /// The topics, by number, that the connection has carried requests for.
    private var isUsed: [Bool]
    /// The topics, by number, that count this connection as one of theirs, see ``FaultPlan/admitConnection()``.
    private var isAdmitted: [Bool]
    private var newTopics: [PushService.Topic]
    private var hasGoneAway = false
    private var stall: (topic: PushService.Topic, FaultPlan.Stall)?

    /// Requests of the present call; empty between calls.
    private var batch: [APIRequest] = []
    /// The app instances of a row of requests; empty between calls.
    private var instances: [AppInstance?] = []

    /// Bytes that are still to come before anything is said; 0: it is known that the client speaks HTTP/2, or not.
    private var unseenBytes: Int
    /// Something was said: of HTTP/2, or that it is needed.
    private var hasSpoken = false

    /// - Parameters:
    ///   - certificate: the client's; nil: it showed none.
    ///   - keys: those of the provider tokens that are taken on this connection.
    ///   - address: the client's, without its port: provider tokens that change too often are counted by it.
    ///   - isHTTP2: both sides agreed on `h2` by ALPN.
    ///   - seed: of the ids that the service makes.
    init(
        service: PushService,
        certificate: CertificateInfo?,
        keys: [KnownProviderKey],
        address: String = "",
        isHTTP2: Bool = true,
        seed: UInt64
    ) {
        let authentication = APIAuthentication(
            certificate: certificate,
            tokens: ConnectionTokens(address: address, updates: service.tokenUpdates),
            environment: service.environment,
            keys: keys,
            served: Set(service.topics.map(\.name))
        )
        let isUsed = service.topics.map { $0.name == authentication.bundle }
        var shaping = APIShaping(topics: isUsed.count, isProbation: authentication.isByToken)
        for (number, topic) in service.topics.enumerated() where isUsed[number] {
            topic.withLedger { shaping.look(number, &$0.faults) }
        }
        http = HTTP2ServerSession(settings: shaping.firstSettings(), limits: SandboxLimits.apiPeer)
        self.service = service
        self.authentication = authentication
        self.isUsed = isUsed
        isAdmitted = [Bool](repeating: false, count: isUsed.count)
        newTopics = zip(service.topics, isUsed).compactMap { $1 ? $0 : nil }
        self.shaping = shaping
        reader = APIRequestReader(service: service, seed: ~seed)
        answers = APIAnswers(environment: service.environment, seed: seed)
        unseenBytes = isHTTP2 ? 0 : Self.openingBytes
        if authentication.hasForeignEnvironment { turnAway() }
        self.shaping.apply(to: http)
    }

    /// The connection has begun. One with provider tokens is admitted to a topic with its first request in order.
    ///
    /// - Returns: the certificate's topic admits it, or there is none. ``leave()`` has to follow.
    func admit() -> Bool {
        for (number, topic) in service.topics.enumerated() where topic.name == authentication.bundle {
            isAdmitted[number] = topic.withLedger { $0.faults.admitConnection() }
            return isAdmitted[number]
        }
        return true
    }

    /// The connection has ended. Idempotent.
    func leave() {
        for (number, topic) in service.topics.enumerated() where isAdmitted[number] {
            isAdmitted[number] = false
            topic.withLedger { $0.faults.releaseConnection() }
        }
    }

    /// A topic of the connection's requests had enough connections, by a fault.
    var isOverLimit: Bool { progress.isOverLimit }

    /// The topics that the connection has begun to carry requests for since the last call; the certificate's at first.
    func takeNewTopics() -> [PushService.Topic] {
        guard !newTopics.isEmpty else { return [] }
        defer { newTopics = [] }
        return newTopics
    }

    var outlook: Outlook {
        switch progress.ending {
        case .reset: .cut
        case .close: .finished
        case .silence: .open
        case .mute, .goAway, nil: http.isFinished ? .finished : .open
        }
    }

    /// The reason why the session is over, if it ended before its time; for logs.
    var failure: HTTP2Failure? { http.failure }

    /// An answer is held back.
    var isHolding: Bool { !held.isEmpty }

    /// The time at which ``wake(now:)`` is to be called; nil: nothing waits.
    var nextWake: NIODeadline? { held.nextDue }

    /// Nothing is looked at or said any more.
    private var isOver: Bool {
        switch progress.ending {
        case .close, .reset, .silence: true
        case .mute, .goAway, nil: false
        }
    }

    /// Takes the next bytes from the connection, in any chunks.
    func receive(_ bytes: ByteBuffer, now: Time) {
        guard !isOver else { return }
        unseenBytes = max(0, unseenBytes - bytes.readableBytes)
        http.receive(bytes, now: now.clock)
        // It has no other holder, so nothing is copied.
        var batch = self.batch
        self.batch = []
        read(into: &batch, now)
        judge(&batch, now)
        conclude(batch, now)
        batch.removeAll(keepingCapacity: true)
        self.batch = batch
    }

    /// It is the time of ``nextWake``.
    func wake(now: Time) {
        guard !isOver else { return }
        while let item = held.takeDue(now: now.clock) {
            answers.answer(item, on: http)
            shaping.noteRuling(item.ruling, collapses: item.collapsesStreams)
        }
        shaping.apply(to: http)
    }

    /// Faults of some topic were changed.
    func faultsChanged() {
        guard !isOver else { return }
        for (number, topic) in service.topics.enumerated() where isUsed[number] {
            topic.withLedger { shaping.look(number, &$0.faults) }
        }
        shaping.apply(to: http)
    }

    /// A stop of reading that a fault of a topic wants, once.
    func takeStall() -> (topic: PushService.Topic, FaultPlan.Stall)? {
        defer { stall = nil }
        return stall
    }

    /// Moves all output behind the readable bytes of `buffer`, see ``HTTP2ServerSession/takeOutput(into:)``.
    func takeOutput(into buffer: inout ByteBuffer) {
        guard !isOver else { return }
        if case .notHTTP2 = http.failure {
            if !hasSpoken { buffer.writeImmutableBuffer(HTTP1Refusal.answer) }
            hasSpoken = true
        } else if unseenBytes == 0 {
            hasSpoken = true
            http.takeOutput(into: &buffer)
            service.countAPIDismissals(http.takeDismissals())
        }
    }

    /// "A certificate of the wrong environment gets no answer at all but GOAWAY" [field].
    private func turnAway() {
        let body = ProviderErrorBody(reason: .badCertificateEnvironment)
        http.goAway(.noError, debugData: body.json, last: HTTP2StreamID(rawValue: 0))
    }
}

// MARK: Requests

extension APISession {
    /// Reads the requests that are complete.
    private func read(into batch: inout [APIRequest], _ now: Time) {
        var tokenTime: Int64?
        while let event = http.nextEvent() {
            // Nothing waits for an event of another kind.
            guard case .request(let stream, let message) = event else { continue }
            let time = tokenTime ?? tokenClock(now)
            tokenTime = time
            let request = reader.read(message, on: stream, &authentication, now: time)
            batch.append(request)
            guard case .refused(let refusal) = request.ruling, refusal.reason == .expiredProviderToken,
                time != Int64(now.unixSeconds)
            else { continue }
            service.withDoor { $0.strikeTokenClock() }
        }
    }

    /// The time by the clock for provider tokens.
    private func tokenClock(_ now: Time) -> Int64 {
        Int64(now.unixSeconds) + Int64(authentication.isByToken ? service.withDoor { $0.tokenClockSeconds } : 0)
    }

    /// Decides on the requests that are in order, and writes all of them into the books.
    private func judge(_ batch: inout [APIRequest], _ now: Time) {
        var instances = self.instances
        self.instances = []
        var start = 0
        while start < batch.count {
            let number = batch[start].topic
            var end = start + 1
            while end < batch.count, batch[end].topic == number { end += 1 }
            if let number {
                let topic = service.topics[number]
                if !isUsed[number] {
                    isUsed[number] = true
                    newTopics.append(topic)
                }
                topic.withLedger { ledger in
                    if !isAdmitted[number] { admit(batch[start..<end], to: number, &ledger) }
                    Self.anticipate(batch[start..<end], &ledger, &instances)
                    for index in start..<end { progress.judge(&batch[index], &ledger, now: now.unixSeconds) }
                    shaping.look(number, &ledger.faults)
                    if let stall = progress.takeStall(&ledger) { self.stall = (topic, stall) }
                }
            } else {
                for index in start..<end where !progress.takes(batch[index].stream) { batch[index].ruling = .ignored }
                service.countAPIRefusals(batch[start..<end].compactMap(\.refusal))
            }
            start = end
        }
        instances.removeAll(keepingCapacity: true)
        self.instances = instances
    }

    /// Admits a connection with provider tokens to a topic, once requests in order are about it.
    private func admit(_ row: ArraySlice<APIRequest>, to number: Int, _ ledger: inout DeviceLedger) {
        guard authentication.isByToken, progress.ending == nil, row.contains(where: { $0.ruling == nil }) else {
            return
        }
        isAdmitted[number] = ledger.faults.admitConnection()
        if !isAdmitted[number] { progress.exceedLimit() }
    }

    private static func anticipate(
        _ row: ArraySlice<APIRequest>,
        _ ledger: inout DeviceLedger,
        _ instances: inout [AppInstance?]
    ) {
        guard row.count > 1 else { return }
        instances.removeAll(keepingCapacity: true)
        for request in row { instances.append(request.order?.instance) }
        instances.withUnsafeBufferPointer { ledger.anticipate($0) }
    }

    /// Answers, unless a fault has ended the connection meanwhile.
    private func conclude(_ batch: [APIRequest], _ now: Time) {
        if isOver {
            held.removeAll()
            return
        }
        for request in batch {
            guard request.delayMilliseconds == 0 else {
                hold(request, now)
                continue
            }
            answers.answer(request, on: http)
            if let ruling = request.ruling { shaping.noteRuling(ruling, collapses: request.collapsesStreams) }
        }
        if case .goAway(let last, let code, let reason) = progress.ending, !hasGoneAway {
            hasGoneAway = true
            let body = reason.isEmpty ? [] : ProviderErrorBody(reason: ProviderReason(rawValue: reason)).json
            http.goAway(code, debugData: body, last: last)
        }
        shaping.apply(to: http)
    }

    private func hold(_ request: APIRequest, _ now: Time) {
        guard let ruling = request.ruling else { return }
        held.insert(
            HeldAnswers.Item(
                due: now.clock + .milliseconds(request.delayMilliseconds),
                stream: request.stream,
                ruling: ruling,
                id: APIAnswers.copyID(of: request),
                collapsesStreams: request.collapsesStreams,
                channels: request.channels
            )
        )
    }
}
