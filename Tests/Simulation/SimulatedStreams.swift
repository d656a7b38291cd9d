import APNsProtocol
import HTTP2Transport

@testable import Sender

/// One HTTP/2 connection between a credential and the gateways of its topics: the wire, the streams that the peer
/// holds, and answers on their way back, each after a time of its own.
///
/// The gateway looks at a request a while after its arrival, and answers later still; so answers come in any order, and
/// what a lost connection leaves unanswered was accepted, or not.
final class SimulatedStreams: StreamConnection {
    /// Bytes of frames.
    private enum Size {
        static let request: UInt64 = 120
        static let reset: UInt64 = 13
        static let ping: UInt64 = 17
    }
    /// Streams that may be opened before the peer's SETTINGS arrive.
    private static let streamsBeforeSettings = 100

    let worker: SimulatedWorker
    let loop: SimulatedEventLoop
    /// Unowned, since the credential holds its connections, and the auditor holds every credential that ever had one.
    unowned let owner: CredentialConnections
    let number: UInt32
    /// Of the topics whose requests it may carry; several share a provider key.
    let gateways: [SimulatedGateway]
    let isKeyed: Bool
    /// Of the certificate; nil: requests carry provider tokens.
    let edition: UInt64?

    // The worker's side.

    /// Streams that the worker waits for.
    private var open: [Int32: (tag: UInt64, token: Int)] = [:]
    /// Marks of streams that the worker has reset, whose ends it reads with the next bytes.
    private var resetTags: [UInt64] = []
    private var nextStream: Int32 = 1
    private(set) var maxConcurrentStreams = streamsBeforeSettings
    /// A GOAWAY was read.
    private var isEnding = false
    private var buffered: [Frame] = []
    /// In our kernel, not read.
    var incoming: [Event] = []
    private var isReading = false
    /// The worker has closed it, or knows that it has ended.
    private(set) var isAbandoned = false

    // The wire.

    var onTheWay: [(frames: [Frame], bytes: UInt64)] = []
    private var unreadBytes: UInt64 = 0
    private var isMoving = false
    private var wasStalled = false
    /// Nothing passes in either direction any more, and neither side is told.
    var isVoid = false

    // The gateway's side.

    /// Requests that are neither answered nor dropped.
    var held: [Int32: Request] = [:]
    private var lastArrived: Int32 = -1
    /// The latest stream whose request was looked at.
    private var lastProcessed: Int32 = -1
    /// Later streams are not looked at; nil: no GOAWAY was sent.
    var lastTaken: Int32?
    private var announced = streamsBeforeSettings
    /// When the latest SETTINGS come: frames of one connection never overtake each other, only answers do.
    private var settingsArriveAt: VirtualTime = 0
    private var hasAccepted = false
    /// The gateway takes nothing more.
    var isOver = false

    init(
        owner: CredentialConnections,
        number: UInt32,
        gateways: [SimulatedGateway],
        isKeyed: Bool,
        edition: UInt64,
        worker: SimulatedWorker,
        loop: SimulatedEventLoop
    ) {
        self.owner = owner
        self.number = number
        self.gateways = gateways
        self.isKeyed = isKeyed
        self.edition = isKeyed ? nil : edition
        self.worker = worker
        self.loop = loop
    }

    var world: World { gateways[0].world }
    private var now: VirtualTime { world.clock.now }

    // MARK: The worker's side

    var isStalled: Bool { unreadBytes >= UInt64(world.plan.options.buffer) }

    func open(_ request: StreamRequest, tag: UInt64) throws(HTTP2OpenRefusal) -> Int32 {
        guard !isEnding, !isAbandoned else { throw .sessionIsEnding }
        guard open.count < maxConcurrentStreams else { throw .noStreamLeft }
        let token = World.token(request.token)
        let record = request.content.body.withUnsafeReadableBytes { World.record($0) }
        request.content.body.withUnsafeReadableBytes { world.auditor.checkBadge(in: $0, record: record, token: token) }
        let topic = World.place(ofToken: token).topic
        world.auditor.check(
            request.content.topic == World.bundles[topic] && gateways.contains { $0.topic == topic },
            6,
            "\(worker.name) sends to a topic over a connection with the credential of others"
        )
        world.auditor.requested(token, by: worker)
        let stream = nextStream
        nextStream += 2
        open[stream] = (tag, token)
        let asked = Request(stream: stream, record: record, token: token, writtenAt: now, controls: worker.controls)
        buffered.append(.request(asked))
        unreadBytes += Size.request
        return stream
    }

    func reset(stream: Int32) {
        guard let given = open.removeValue(forKey: stream) else { return }
        world.auditor.requestEnded(given.token, by: worker)
        resetTags.append(given.tag)
        buffered.append(.reset(stream))
        unreadBytes += Size.reset
    }

    func ping() {
        buffered.append(.ping)
        unreadBytes += Size.ping
    }

    func flush() {
        guard !buffered.isEmpty, !isAbandoned else { return }
        let objection = world.auditor.objection(toWritingBy: worker)
        var bytes: UInt64 = 0
        for index in buffered.indices {
            switch buffered[index] {
            case .request(var request):
                request.objection = objection
                buffered[index] = .request(request)
                bytes += Size.request
            case .reset: bytes += Size.reset
            case .ping: bytes += Size.ping
            }
        }
        onTheWay.append((buffered, bytes))
        buffered = []
        wasStalled = isStalled
        move()
    }

    /// Closes our side. Frames on their way still arrive.
    func close() {
        flush()
        abandon()
    }

    func abort() {
        onTheWay = []
        abandon()
    }

    /// The worker does not wait for answers any more.
    func abandon() {
        guard !isAbandoned else { return }
        isAbandoned = true
        for given in open.values { world.auditor.requestEnded(given.token, by: worker) }
        open = [:]
        for gateway in gateways { gateway.closed(self) }
    }

    // MARK: Reading

    private func send(_ event: Event, after delay: VirtualTime) {
        world.clock.after(delay) { [weak self] in
            guard let self, !isAbandoned, !isVoid else { return }
            incoming.append(event)
            guard !isReading else { return }
            isReading = true
            loop.deliver(after: world.dice.time(0...3)) { [weak self] in self?.read() }
        }
    }

    /// The worker reads all that has come.
    func read() {
        isReading = false
        guard !isAbandoned else { return }
        owner.connectionHeard(number: number)
        for tag in resetTags { owner.streamClosed(number: number, tag: tag, isRefused: false) }
        resetTags = []
        let events = incoming
        incoming = []
        for event in events where !isAbandoned { take(event) }
        if !isAbandoned { owner.connectionReadCompletely(number: number) }
    }

    private func take(_ event: Event) {
        switch event {
        case .settings(let streams):
            maxConcurrentStreams = streams
            owner.settingsChanged(number: number)
        case .answer(let stream, let answer):
            guard let given = end(stream) else { return }
            let status = answer?.status ?? 200
            world.note(.answered, worker.number, status, "\(worker.name) reads \(status) for token \(given.token)")
            switch answer?.verdict {
            case .tokenRefused: world.auditor.refusalRead(token: given.token)
            case .tokenDead: world.auditor.refusalRead(token: given.token, isDated: true)
            case nil: world.auditor.answered(owner)
            default: break
            }
            owner.answered(number: number, stream: stream, tag: given.tag, answer)
            owner.streamClosed(number: number, tag: given.tag, isRefused: false)
        case .closed(let stream, let isRefused):
            guard let given = end(stream) else { return }
            owner.streamClosed(number: number, tag: given.tag, isRefused: isRefused)
        case .goAway(let last, let isError, let reason):
            isEnding = true
            let code = isError ? "INTERNAL_ERROR" : "NO_ERROR"
            let debugData = reason.isEmpty ? [] : Array(#"{"reason":"\#(reason)"}"#.utf8)
            owner.wentAway(number: number, last: last, isError: isError, code: code, debugData: debugData)
            for stream in open.keys.sorted() where stream > last { take(.closed(stream, isRefused: true)) }
        case .pong:
            break
        }
    }

    /// The worker learns that a stream is over; nil: it had given it up.
    private func end(_ stream: Int32) -> (tag: UInt64, token: Int)? {
        let given = open.removeValue(forKey: stream)
        if let given { world.auditor.requestEnded(given.token, by: worker) }
        return given
    }

    // MARK: The wire

    /// The time for which the gateways are kept from reading.
    var stall: VirtualTime {
        let until = gateways.reduce(0) { max($0, $1.stalledUntil) }
        return until > now ? until - now : 0
    }

    private func move() {
        guard !isMoving, !isVoid, let first = onTheWay.first else { return }
        isMoving = true
        let reading = gateways.reduce(0) { max($0, $1.readingTime(Int(first.bytes))) }
        world.clock.after(stall + reading + world.dice.time(1...30)) { [weak self] in self?.arrive() }
    }

    private func arrive() {
        isMoving = false
        guard !isVoid, !onTheWay.isEmpty else { return }
        guard stall == 0 else { return move() }
        let next = onTheWay.removeFirst()
        unreadBytes -= next.bytes
        if !isOver { for frame in next.frames { arrive(frame) } }
        if wasStalled, !isStalled, !isAbandoned, !isOver {
            wasStalled = false
            // The peer opens its window.
            send(.pong, after: world.dice.time(1...30))
        }
        move()
    }

    private func arrive(_ frame: Frame) {
        switch frame {
        case .ping: send(.pong, after: world.dice.time(1...30))
        case .reset(let stream): held[stream] = nil
        case .request(let request):
            lastArrived = request.stream
            if let lastTaken, request.stream > lastTaken { return }
            guard held.count < announced else { return refuse(request.stream) }
            held[request.stream] = request
            let stream = request.stream
            world.clock.after(world.dice.time(0...20)) { [weak self] in self?.process(stream) }
        }
    }

    // MARK: The gateway's side

    /// The gateway is there: its SETTINGS come first, and the reason of a refusal right after them.
    ///
    /// - Parameter isRefused: the gateway does not want the credential, and says so with GOAWAY.
    func begin(isRefused: Bool) {
        for gateway in gateways { gateway.opened(self) }
        limitStreams()
        if isRefused { goAway(isError: false, reason: "BadCertificateEnvironment", last: 0) }
    }

    /// Announces the number of streams that are allowed now.
    func limitStreams() {
        let allowed = gateways.reduce(Int.max) { min($0, $1.allowedStreams) }
        // With a provider token it is one until the first acceptance.
        let streams = isKeyed && !hasAccepted ? min(1, allowed) : allowed
        guard streams != announced, !isOver, !isVoid else { return }
        announced = streams
        settingsArriveAt = max(settingsArriveAt, now + world.dice.time(1...30))
        send(.settings(streams), after: settingsArriveAt - now)
    }

    private func refuse(_ stream: Int32) {
        held[stream] = nil
        send(.closed(stream, isRefused: true), after: world.dice.time(1...30))
    }

    private func process(_ stream: Int32) {
        guard let request = held[stream], !isOver, !isVoid else { return }
        lastProcessed = max(lastProcessed, stream)
        let gateway = gateway(of: request)
        switch gateway.fate(record: request.record, token: request.token, edition: edition) {
        case .accepted:
            accept(request)
            answer(request, nil, of: gateway)
        case .answered(let answer): self.answer(request, answer, of: gateway)
        case .reset(let isAccepted):
            if isAccepted { accept(request) }
            held[stream] = nil
            send(.closed(stream, isRefused: false), after: world.dice.time(1...30))
        case .streamRefused: refuse(stream)
        case .unanswered(let isAccepted):
            if isAccepted { accept(request) }
            held[stream] = nil
        case .hangUp: hangUp()
        }
    }

    func gateway(of request: Request) -> SimulatedGateway {
        world.gateways[World.place(ofToken: request.token).topic]
    }

    func accept(_ request: Request) {
        if let objection = request.objection { world.auditor.check(false, 3, objection) }
        world.auditor.checkLevers(request.controls, record: request.record, token: request.token, in: worker.lane)
        world.auditor.accepted(
            record: request.record,
            token: request.token,
            from: worker,
            isGivenUp: open[request.stream] == nil,
            writtenAt: request.writtenAt
        )
    }

    private func answer(_ request: Request, _ answer: ProviderAnswer?, of gateway: SimulatedGateway) {
        held[request.stream] = nil
        send(.answer(request.stream, answer), after: gateway.answerDelay())
        guard answer == nil, !hasAccepted else { return }
        hasAccepted = true
        limitStreams()
    }

    /// The gateway takes no more streams; some of those that it has may be above the last one that it takes.
    func goAway(isError: Bool) {
        let ahead = Int(max(lastArrived, lastProcessed) - lastProcessed) / 2
        let last = lastProcessed + 2 * Int32(world.dice.pick(0...ahead))
        goAway(isError: isError, reason: isError ? "" : "Shutdown", last: max(0, last))
    }

    private func goAway(isError: Bool, reason: String, last: Int32) {
        guard !isOver, !isVoid, lastTaken == nil else { return }
        world.note(.refused, gateways[0].topic, Int(last), "a gateway goes away from \(worker.name) after \(last)")
        lastTaken = last
        for stream in held.keys.sorted() where stream > last { held[stream] = nil }
        send(.goAway(last: last, isError: isError, reason: reason), after: world.dice.time(1...30))
        world.clock.after(world.dice.time(100...3000)) { [weak self] in
            guard let self, !isOver, !isVoid else { return }
            isOver = true
            end(nil, after: world.dice.time(1...40))
        }
    }

    /// The gateway closes without a word.
    private func hangUp() {
        world.note(.refused, gateways[0].topic, 0, "gateway \(gateways[0].topic) hangs up on \(worker.name)")
        isOver = true
        held = [:]
        end(nil, after: world.dice.time(1...40))
    }
}
