import APNsProtocol

@testable import Sandbox

/// Two topics with their ledgers, and devices that connect to them, without sockets and threads.
///
/// A class, because its desk shares what it has.
final class CourierFixture: CourierDesk {
    static let topics = ["com.example.a", "com.example.b"]
    /// UNIX seconds.
    static let now: UInt32 = 1_000_000

    let devices = 100
    private let mints = topics.map { TokenMint(key: TopicFixture.key, environment: .development, topic: $0) }
    private(set) var ledgers = topics.map { _ in DeviceLedger(devices: 100) }
    private var connections: UInt64 = 0

    func topic(named name: String) -> Int? { Self.topics.firstIndex(of: name) }

    func name(of topic: Int) -> String { Self.topics[topic] }

    func open(_ token: [UInt8]) -> (topic: Int, instance: AppInstance)? {
        for (index, mint) in mints.enumerated() {
            if let instance = token.withUnsafeBytes(mint.open) { return (index, instance) }
        }
        return nil
    }

    func token(of instance: AppInstance, topic: Int) -> [UInt8] { mints[topic].token(of: instance) }

    func withLedger<Result>(of topic: Int, _ body: (inout DeviceLedger) -> Result) -> Result {
        body(&ledgers[topic])
    }

    func token(_ device: UInt32, generation: UInt8 = 0, topic: Int = 0) -> [UInt8] {
        token(of: AppInstance(device: device, generation: generation), topic: topic)
    }

    /// A new connection of a device.
    func connect(_ device: UInt32) -> CourierLine {
        connections += 1
        return CourierLine(CourierSession(device: device, connection: connections), self)
    }

    /// A provider sends to a token.
    ///
    /// - Returns: the status it is refused with; `nil` = accepted.
    @discardableResult
    func send(_ payload: String, to token: [UInt8], expiration: UInt32 = .max, topic: Int = 0) -> APNsStatus? {
        var session = GatewaySession(limits: GatewayLimits(payloadLimitBytes: PayloadLimit.binaryIOS8))
        let payload = Array(payload.utf8)
        let frame = Frame.command2(identifier: 1, token: token, payload: payload, expiration: expiration)
        let action = frame.withUnsafeBytes {
            session.receive($0, mint: mints[topic], ledger: &ledgers[topic], now: Self.now)
        }
        guard case .finish(let answer?, _) = action else { return nil }
        return answer.status
    }

    /// Everything accepted has one fate.
    func isBalanced(topic: Int = 0) -> Bool {
        let counters = ledgers[topic].counters
        return counters.accepted == counters.delivered + counters.stored + counters.coalesced + counters.expired
            + counters.feedback
    }
}

/// One connection of a device, seen from its end.
final class CourierLine {
    private(set) var session: CourierSession
    private let fixture: CourierFixture

    init(_ session: CourierSession, _ fixture: CourierFixture) {
        self.session = session
        self.fixture = fixture
    }

    func say(_ requests: CourierRequest...) -> CourierSession.Output {
        say(requests.flatMap(\.encoded))
    }

    func say(_ bytes: [UInt8]) -> CourierSession.Output {
        bytes.withUnsafeBytes { session.receive($0, desk: fixture, now: CourierFixture.now) }
    }

    /// The payloads of one batch.
    func fetch(topic: Int = 0) -> [String] {
        collect(topic: topic).messages.compactMap { message in
            guard case .notification(let notification) = message else { return nil }
            return String(decoding: notification.payload, as: UTF8.self)
        }
    }

    func collect(topic: Int = 0) -> CourierSession.Output {
        session.collect(topic: topic, desk: fixture)
    }

    func replace() -> CourierSession.Output { session.replaced() }

    func presentationIsDue() -> CourierSession.Output { session.presentationIsDue() }

    func end() { session.ended(desk: fixture, now: CourierFixture.now) }
}

extension CourierSession.Output {
    /// The code of a refusal that is the only message.
    var refusal: CourierRefusal.Code? {
        guard messages.count == 1, case .refused(let refusal) = messages[0] else { return nil }
        return refusal.code
    }
}
