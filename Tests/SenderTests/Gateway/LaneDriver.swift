import APNsProtocol
import BelfrySupport
import Logging
import NIOCore
import NIOPosix
import PipelineCore
import TLSTransport

@testable import PipelineTestSupport
@testable import Sender

/// A lane on an event loop of its own, what it reported, and a clock that the test turns.
final class LaneDriver: LaneStage {
    /// The lane's reports so far.
    struct Told: Sendable, Equatable {
        var confirmed: [UInt32] = []
        var presumed: [UInt32] = []
        var unknown: [UInt32] = []
        var refused: [UInt32] = []
        var resent = 0
        var answers = 0
        var connects = 0
        var disconnects = 0
    }

    static let frameBytes = NotificationFrame.command2Bytes(tokenBytes: 32, payloadBytes: payload.count)
    private static let payload = Array(#"{"aps":{"alert":"\#(String(repeating: "x", count: 200))"}}"#.utf8)

    private(set) var told = Told()
    /// The budget allows a connection.
    var mayConnect = true
    /// Connections taken out of the budget.
    private(set) var charged = 0
    private var lanes: BinaryLanes?
    private var lane: GatewayLane? { lanes?.ownLanes.first }
    private var published: UInt32 = 0
    /// Time by which the test has put its clock forward.
    private var lead = Duration.zero

    private init() {}

    /// Makes a lane on the loop and runs the test with it.
    ///
    /// - Parameters:
    ///   - timeout: for connecting, and again for the handshake.
    ///   - resolve: finds the addresses behind each port.
    ///   - proxy: leads to them.
    static func withLane(
        to ports: [Int],
        limits: LaneLimits = LaneLimits(),
        timeout: TimeAmount = .seconds(10),
        resolve: @escaping ServiceAddresses.Resolve = ServiceAddresses.system,
        through proxy: ProxySettings? = nil,
        _ test: (LaneRemote) async throws -> Void
    ) async throws {
        let gateways = ports.map { HostPort(host: "127.0.0.1", port: $0) }
        let tls = try FeedbackService.PKI.shared.get().context()
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        let driver = try await eventLoop.submit {
            let driver = LaneDriver()
            var configuration = BelfryConfiguration()
            let place = EnvironmentSettings(name: "sandbox", gateways: gateways)
            configuration.environments = [place]
            let settings = ShardSettings(configuration, unixMilliseconds: { 0 }) { .random(in: .min ... .max) }
            let topic = settings.makeTopic(0, environment: place.name, bundleID: "com.example.news", filters: nil)
            let topicSettings = configuration.topic(topic.bundleID, in: place)
            topic.use(Topic.Settings(topicSettings, tokenBytes: 32...32, limits: limits))
            driver.lanes = BinaryLanes(
                of: topic,
                settings: settings,
                buffers: RunBuffers(),
                frames: FrameChunks(),
                memory: ShardMemory(settings.memory),
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
                stage: driver
            ) { _ in
                GatewayConnector(
                    dialer: GatewayDialer(
                        addresses: ServiceAddresses(
                            gateways,
                            through: proxy,
                            eventLoop: eventLoop,
                            resolve: resolve
                        ),
                        firstTurn: 0,
                        timeout: timeout
                    ) { tls }
                )
            }
            return NIOLoopBound(driver, eventLoop: eventLoop)
        }.get()
        let remote = LaneRemote(driver: driver)
        do {
            try await test(remote)
        } catch {
            try await remote.run { $0.close() }
            throw error
        }
        try await remote.run { $0.close() }
    }

    var machine: LaneStateMachine {
        _read {
            guard let lane else { preconditionFailure("the lane is made first") }
            yield lane.machine
        }
    }

    func publish(_ count: Int) {
        guard let lane else { return }
        let token = Array(repeating: UInt8(7), count: 32)
        for _ in 0..<count {
            token.withUnsafeBytes { token in
                Self.payload.withUnsafeBytes { payload in
                    _ = NotificationFrame.encodeCommand2(
                        identifier: lane.machine.nextIdentifier,
                        token: token,
                        payload: payload,
                        expiration: 0,
                        priority: .immediate,
                        into: lane.machine.reserve(Self.frameBytes)
                    )
                }
            }
            lane.machine.commit(.init(assignment: 1, record: 0, token: published), bytes: Self.frameBytes)
            published += 1
        }
        lane.pump(now: now)
    }

    /// Puts the clock forward and lets the lane look at it.
    func tick(after time: Duration = .zero) {
        lead += time
        lane?.tick(now: now)
    }

    private var now: MonotonicTime { MonotonicTime(.now()) + lead }

    /// Stops the lane. Waiting notifications are not sent, those in flight are to be proven.
    func finish() {
        lane?.machine.stopSending(assignment: 1)
        lane?.finish(now: now)
    }

    func close() {
        lane?.close()
        lanes = nil
    }

    // MARK: What the lane says

    var mayWrite: Bool { true }
    var hasStoodStill: Bool { false }

    func mayConnect(_ topic: Topic, _ purpose: ConnectionBudget.Purpose, now: MonotonicTime) -> MonotonicTime? {
        guard mayConnect else { return now + .seconds(1) }
        charged += 1
        return nil
    }

    func handle(_ event: TransportEvent, of topic: Topic) {
        if event == .connected { told.connects += 1 }
        if case .disconnected = event { told.disconnects += 1 }
    }

    func handle(_ event: LaneEvent, of lane: GatewayLane) {
        switch event {
        case .answered: told.answers += 1
        case .settled(let verdict): note(verdict, of: lane)
        case .condemned, .withdrawn: break
        }
    }

    private func note(_ verdict: LaneVerdict, of lane: GatewayLane) {
        func ordinals(_ range: Range<UInt64>) -> [UInt32] {
            range.map { lane.machine.log.entry(at: $0) }.filter { !$0.isDropped }.map(\.reference.token)
        }
        told.confirmed += ordinals(verdict.confirmed)
        told.presumed += ordinals(verdict.presumed)
        told.unknown += ordinals(verdict.unknown)
        if let refused = verdict.refused { told.refused += ordinals(refused.sequence..<refused.sequence + 1) }
        told.resent += verdict.resent
    }
}

/// A test's handle of a ``LaneDriver``: everything is done on its event loop.
struct LaneRemote: Sendable {
    let driver: NIOLoopBound<LaneDriver>

    func run<Value: Sendable>(_ body: @escaping @Sendable (LaneDriver) throws -> Value) async throws -> Value {
        try await driver.eventLoop.submit { [driver] in try body(driver.value) }.get()
    }

    /// Asks again and again until the answer is yes; the suite's time limit ends a test that waits in vain.
    func until(_ condition: @escaping @Sendable (LaneDriver) -> Bool) async throws {
        while try await !run(condition) {
            try Task.checkCancellation()
            // The sockets get their turn in between.
            try await driver.eventLoop.scheduleTask(in: .milliseconds(1)) {}.futureResult.get()
        }
    }

    var told: LaneDriver.Told {
        get async throws { try await run(\.told) }
    }
}
