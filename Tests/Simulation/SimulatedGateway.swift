import APNsProtocol
import NIOCore
import PipelineCore

@testable import Sender

/// The gateway of one topic: which tokens it knows, and what it does wrong at the moment.
final class SimulatedGateway {
    let topic: Int
    unowned let world: World
    /// Tokens that are refused with status 8.
    var invalid: Set<Int>
    var unreachableUntil: VirtualTime = 0
    var stalledUntil: VirtualTime = 0
    var refusesCertificateUntil: VirtualTime = 0
    /// Number of the topic's certificate in the directory.
    var edition: UInt64 = 1
    /// That certificate is refused, those before are not.
    var refusesNewestUntil: VirtualTime = 0
    var silencesSentinelsUntil: VirtualTime = 0
    var refusesEverythingUntil: VirtualTime = 0
    var answersLateUntil: VirtualTime = 0
    /// Number of times it began to refuse everything.
    var wrongPhases = 0
    /// The next notification read is refused so.
    var nextRefusal: (status: APNsStatus, names: Bool)?
    /// New connections, too, lead into the void.
    private(set) var isVoidUntil: VirtualTime = 0
    /// Bytes a second that it reads, until a time.
    var slow: (until: VirtualTime, bytesPerSecond: Int) = (0, 1)
    /// Never works again.
    var isSick = false
    /// Notifications on which it closes without a word: record and token.
    private var poison: Set<[Int]> = []
    /// So is the first notification of every other record, for good.
    var isPoisonedForGood = false
    private(set) var connections: [SimulatedConnection] = []
    /// Connections over HTTP/2, which it may share with others.
    private(set) var streamed: [SimulatedStreams] = []
    /// Streams that a connection may have open, until a time.
    var limit: (until: VirtualTime, streams: Int) = (0, 0)
    var refusesStreamsUntil: VirtualTime = 0
    var resetsStreamsUntil: VirtualTime = 0
    /// Requests that come before are never answered.
    var muteUntil: VirtualTime = 0
    /// Answers with status 500 or 503, of a hundred, until a time.
    var trouble: (until: VirtualTime, percent: Int) = (0, 0)
    /// Some tokens get too much.
    var throttlesUntil: VirtualTime = 0
    /// The time of the first answer to a notification that asks for a later attempt, by record and token.
    var retriedSince: [[Int]: VirtualTime] = [:]
    /// No request is accepted for the topic.
    var disallowsTopicUntil: VirtualTime = 0
    /// Number of times it began to refuse the topic, or a worker may have begun to count anew.
    var disallowedPhases = 0
    /// Refusals of notifications for their topic, by record and token.
    var disallowed: [[Int]: Int] = [:]

    init(world: World, topic: Int, invalid: Set<Int>) {
        self.world = world
        self.topic = topic
        self.invalid = invalid
        for (ordinal, record) in world.plan.records.enumerated() where record.topic == topic {
            for token in record.poison {
                poison.insert([ordinal, World.ordinal(topic: topic, key: record.key, token: token)])
            }
        }
    }

    var now: VirtualTime { world.clock.now }

    /// Nothing is wrong with it any more, and it knows every token.
    func heal() {
        if !world.plan.options.isForGood { poison = [] }
        guard !isSick else { return }
        invalid = []
        nextRefusal = nil
        isVoidUntil = 0
        slow = (0, 1)
        unreachableUntil = 0
        stalledUntil = 0
        refusesCertificateUntil = 0
        refusesNewestUntil = 0
        silencesSentinelsUntil = 0
        refusesEverythingUntil = 0
        answersLateUntil = 0
        healStreams()
    }

    /// A new connection with a certificate is refused.
    func refuses(edition: UInt64) -> Bool {
        now < refusesCertificateUntil || edition == self.edition && now < refusesNewestUntil
    }

    func opened(_ connection: SimulatedConnection) {
        connections.append(connection)
        if now < isVoidUntil { connection.loseTouch() }
    }

    /// Its connections, and those opened before a time, lead into the void from now on.
    func die(until end: VirtualTime) {
        isVoidUntil = max(isVoidUntil, end)
        for connection in connections { connection.loseTouch() }
        for connection in streamed { connection.loseTouch() }
    }

    func isPoisoned(_ record: Int, _ token: Int) -> Bool {
        if isPoisonedForGood, record.isMultiple(of: 2), token == world.firstToken(of: record) { return true }
        return !poison.isEmpty && poison.contains([record, token])
    }

    /// One token of five is invalid from now on.
    func makeSomeInvalid() {
        let perTopic = WorldPlan.keysPerTopic * WorldPlan.tokensPerKey
        invalid.formUnion((topic * perTopic..<(topic + 1) * perTopic).filter { $0.isMultiple(of: 5) })
    }

    /// Time to read so many bytes, beyond the usual.
    func readingTime(_ bytes: Int) -> VirtualTime {
        now < slow.until ? VirtualTime(bytes) * .seconds(1) / VirtualTime(slow.bytesPerSecond) : 0
    }

    func closed(_ connection: SimulatedConnection) { connections.removeAll { $0 === connection } }

    func opened(_ connection: SimulatedStreams) {
        streamed.append(connection)
        if now < isVoidUntil { connection.loseTouch() }
    }

    func closed(_ connection: SimulatedStreams) { streamed.removeAll { $0 === connection } }

    /// Delay of the answer to a refused notification. With the way here and back it is below a window where the world
    /// is punctual.
    func answerDelay() -> VirtualTime {
        let window = Int(world.plan.options.window / .milliseconds(1))
        guard now < answersLateUntil else { return world.dice.time(1...max(1, window / 8)) }
        return world.dice.time(window / 8...(world.plan.options.isPunctual ? window / 2 : window * 3))
    }

    /// The status that refuses the content of a record to every token; nil: it is as good as others.
    func refusal(ofRecord record: Int) -> APNsStatus? {
        world.plan.records.indices.contains(record) ? world.plan.records[record].refusal : nil
    }

    /// The status that refuses a notification; nil: it is accepted.
    func judge(_ token: Int) -> APNsStatus? {
        if let refusal = nextRefusal, refusal.names {
            nextRefusal = nil
            return refusal.status
        }
        return invalid.contains(token) || now < refusesEverythingUntil ? .invalidToken : nil
    }
}

/// Opens a lane's connections to a simulated gateway.
final class SimulatedConnector: GatewayConnecting {
    let eventLoop: any EventLoop
    private let loop: SimulatedEventLoop
    private let gateway: SimulatedGateway
    private let worker: SimulatedWorker
    private let lane: Int
    private let latestEdition: () -> UInt64

    init(
        loop: SimulatedEventLoop,
        gateway: SimulatedGateway,
        worker: SimulatedWorker,
        lane: Int,
        edition: @escaping () -> UInt64
    ) {
        eventLoop = loop
        self.loop = loop
        self.gateway = gateway
        self.worker = worker
        self.lane = lane
        latestEdition = edition
    }

    var edition: UInt64 { latestEdition() }

    func connect(_ lane: GatewayLane, attempt: Int) {
        let world = gateway.world
        world.auditor.connectingUnused(worker, to: gateway.topic, lane)
        world.auditor.connecting(worker, lane)
        world.note(
            .connecting,
            worker.number,
            gateway.topic,
            "\(worker.name) connects to \(gateway.topic).\(self.lane), attempt \(attempt)"
        )
        if gateway.now < gateway.unreachableUntil {
            return loop.deliver(after: world.dice.time(1...900)) { [self] in
                fail(lane, attempt, SimulatedFailure(reason: "unreachable"))
            }
        }
        // A refused certificate is told in the handshake, or with the first read after it.
        let isRefused = gateway.refuses(edition: edition)
        loop.deliver(after: world.dice.time(2...60)) { [self] in
            if isRefused, world.dice.chance(50) { return fail(lane, attempt, SimulatedFailure.certificate) }
            open(lane, attempt, isRefused: isRefused)
        }
    }

    private func open(_ lane: GatewayLane, _ attempt: Int, isRefused: Bool) {
        let world = gateway.world
        let connection = SimulatedConnection(
            gateway: gateway,
            worker: worker,
            loop: loop,
            lane: lane,
            attempt: attempt,
            isRefused: isRefused
        )
        gateway.opened(connection)
        world.note(.connected, worker.number, gateway.topic, "\(worker.name) opened \(gateway.topic).\(self.lane)")
        lane.connectionOpened(attempt: attempt, connection: connection)
        guard isRefused else { return }
        loop.deliver(after: world.dice.time(1...40)) { connection.fail(SimulatedFailure.certificate) }
    }

    private func fail(_ lane: GatewayLane, _ attempt: Int, _ error: any Error) {
        let world = gateway.world
        world.note(.disconnected, worker.number, gateway.topic, "\(worker.name) cannot connect: \(error)")
        // An attempt that the lane has dropped is not its failure.
        if lane.isConnecting(attempt) { world.auditor.failed(lane) }
        lane.connectionEnded(attempt: attempt, error: error)
    }

    func placeName(of attempt: Int) -> String { "simulated" }

    func noteFailure() {}
}
