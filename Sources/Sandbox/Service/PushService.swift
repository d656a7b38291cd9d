import APNsProtocol
import HTTP2Transport
import NIOCore
import Synchronization
import TLSTransport

/// State that all connections of a sandbox share: topics and counts. Used from every thread.
final class PushService: Sendable {
    /// One topic. Its ledger is locked once for each chunk read from a socket, never per notification.
    final class Topic: Sendable {
        /// The bundle ID.
        let name: String
        /// Rings when ``changeFaults(_:)`` has changed something.
        let bell = FaultBell()
        private let ledger: Mutex<DeviceLedger>
        private let number: Int
        private let courier: CourierDirectory

        /// - Parameter number: its place in the configuration.
        init(
            name: String,
            devices: Int,
            settings: DeviceLedger.Settings,
            number: Int,
            courier: CourierDirectory
        ) {
            self.name = name
            self.number = number
            self.courier = courier
            ledger = Mutex(DeviceLedger(devices: devices, settings: settings))
            // Topics that are seeded alike have different chances.
            withLedger { $0.faults = FaultPlan(salt: TextHash.fnv1a(name)) }
        }

        /// Reads or changes the ledger, and calls the devices that have something to fetch since.
        func withLedger<Result>(_ body: (inout DeviceLedger) -> Result) -> Result {
            let (result, calls) = ledger.withLock { (body(&$0), $0.outbox.takeCalls()) }
            if !calls.isEmpty { courier.call(calls, topic: number) }
            return result
        }
    }

    /// Connections of providers since the start.
    struct ConnectionCounters: Sendable {
        var open = 0
        var total = 0
        /// Of the total: the handshake failed, or the certificate was for another topic or environment.
        var refused = 0
        /// Open ones by the serial number of the certificate that the provider has shown.
        var byCertificate: [String: Int] = [:]
    }

    /// In the order of the configuration.
    let topics: [Topic]
    /// Each topic has so many.
    let devices: Int
    let courier = CourierDirectory()
    /// Rings when faults were changed, of whichever topic or of the door.
    let bell = FaultBell()
    /// Of all connections to the provider API.
    let tokenUpdates = TokenUpdates()
    let environment: PushEnvironment
    let gatewayLimits: GatewayLimits
    private let tokenKey: [UInt8]
    private let door = Mutex(DoorPlan())
    private let connectionCounters = Mutex(ConnectionCounters())
    private let apiRefusals = Mutex(RequestRefusals())
    private let apiDismissals = Mutex(APIDismissals())
    private let droppedRecords = Atomic(0)
    private let clock: @Sendable () -> UInt32

    /// - Parameter clock: UNIX seconds.
    init(configuration: SandboxConfiguration, tokenKey: [UInt8], clock: @escaping @Sendable () -> UInt32) {
        topics = configuration.topics.enumerated().map { [courier] number, name in
            var settings = configuration.ledger.settings(topic: number, of: configuration.topics.count)
            settings.protocolErrorStatus = configuration.gatewayLimits.protocolErrorStatus
            return Topic(
                name: name,
                devices: configuration.devices,
                settings: settings,
                number: number,
                courier: courier
            )
        }
        devices = configuration.devices
        environment = configuration.environment
        gatewayLimits = configuration.gatewayLimits
        isRecording = configuration.ledger.acceptedLogFile != nil
        self.tokenKey = tokenKey
        self.clock = clock
    }

    /// UNIX seconds.
    var now: UInt32 { clock() }

    /// The topic of this name, or `nil` when it is not served.
    func topic(named name: String) -> Topic? {
        topics.first { $0.name == name }
    }

    /// A mint for the calling thread.
    func mint(for topic: Topic) -> TokenMint {
        let mintedBytes = gatewayLimits.tokenBytes.upperBound
        return TokenMint(key: tokenKey, environment: environment, topic: topic.name, mintedBytes: mintedBytes)
    }

    var connections: ConnectionCounters {
        connectionCounters.withLock { $0 }
    }

    /// Acceptances go into a file.
    let isRecording: Bool

    /// Acceptances that did not get into the file they should be in.
    var acceptedLogDropped: Int { droppedRecords.load(ordering: .relaxed) }

    func countDroppedRecords(_ count: Int) {
        droppedRecords.add(count, ordering: .relaxed)
    }

    func countConnections(_ body: (inout ConnectionCounters) -> Void) {
        connectionCounters.withLock { body(&$0) }
    }

    /// Counts a provider's connection to its certificate until it is closed.
    ///
    /// - Parameter certificate: nil: it has shown none.
    func count(_ channel: any Channel, of certificate: CertificateInfo?) {
        guard let serial = certificate?.serialHex else { return }
        countConnections { $0.byCertificate[serial, default: 0] += 1 }
        channel.closeFuture.whenComplete { [self] _ in
            countConnections {
                let left = ($0.byCertificate[serial] ?? 1) - 1
                $0.byCertificate[serial] = left > 0 ? left : nil
            }
        }
    }
}

// MARK: The provider API

extension PushService {
    /// Requests of the provider API that were refused and name no topic that is served.
    var refusalsWithoutTopic: RequestRefusals {
        apiRefusals.withLock { $0 }
    }

    /// GOAWAYs and resets of the provider API, which are no topic's: connections are shared.
    var dismissals: APIDismissals {
        apiDismissals.withLock { $0 }
    }

    func countAPIDismissals(_ dismissals: HTTP2Dismissals) {
        guard !dismissals.isEmpty else { return }
        apiDismissals.withLock { $0.count(dismissals) }
    }

    func countAPIRefusals(_ refusals: [RequestRefusal]) {
        apiRefusals.withLock { counted in
            for refusal in refusals { counted.count(refusal) }
        }
    }
}

// MARK: Faults

extension PushService {
    /// The faults that strike before the topic is known.
    func withDoor<Result>(_ body: (inout DoorPlan) -> Result) -> Result {
        door.withLock { body(&$0) }
    }

    /// Decides the fate of a connection that was just taken.
    func judgeConnect() -> DoorPlan.Verdict {
        let now = Int64(NIODeadline.now().uptimeNanoseconds)
        return withDoor { $0.judge(now: now) }
    }
}

extension PushService.Topic {
    /// Changes what goes wrong on purpose, and tells the connections that stand still because of it.
    func changeFaults(_ body: (inout FaultPlan) -> Void) {
        withLedger { body(&$0.faults) }
        bell.ring()
    }
}
