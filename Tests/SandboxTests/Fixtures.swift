import APNsProtocol

@testable import Sandbox

/// The start of most tests: a topic, its mint, its ledger and its time.
///
/// A class, because `#expect` cannot call what mutates.
final class TopicFixture {
    static let key = [UInt8](0..<32)
    static let topic = "com.example.news"
    /// UNIX seconds.
    static let now: UInt32 = 1_000_000

    let mint = TokenMint(key: key, environment: .development, topic: topic)
    var ledger = DeviceLedger(devices: 100)
    var session: GatewaySession

    init(limits: GatewayLimits = GatewayLimits()) {
        session = GatewaySession(limits: limits)
    }

    func token(_ device: UInt32) -> [UInt8] {
        mint.token(of: AppInstance(device: device))
    }

    func takeFeedback() -> [FeedbackList.Entry] {
        ledger.takeFeedback()
    }

    /// A new connection.
    func reconnect() {
        session = GatewaySession(limits: session.limits)
    }

    /// Feeds the session of this fixture.
    func receive(_ bytes: [UInt8], now: UInt32 = TopicFixture.now) -> GatewaySession.Action {
        bytes.withUnsafeBytes { session.receive($0, mint: mint, ledger: &ledger, now: now) }
    }

    /// Sends one notification on a connection of its own; it must be accepted.
    func accept(
        device: UInt32,
        n: Int = 0,
        payload: [UInt8]? = nil,
        expiration: UInt32 = .max,
        priority: NotificationPriority = .immediate,
        now: UInt32 = TopicFixture.now
    ) -> Bool {
        reconnect()
        let frame = Frame.command2(
            identifier: 1,
            token: mint.token(of: ledger.population.instance(Int(device))),
            n: n,
            payload: payload,
            expiration: expiration,
            priority: priority
        )
        return receive(frame, now: now) == .read
    }
}

/// Encoded notifications.
enum Frame {
    static func payload(n: Int) -> [UInt8] {
        Array("{\"aps\":{\"alert\":\"hello\"},\"n\":\(n)}".utf8)
    }

    static func command2(
        identifier: UInt32,
        token: [UInt8],
        n: Int = 0,
        payload: [UInt8]? = nil,
        expiration: UInt32 = .max,
        priority: NotificationPriority = .immediate
    ) -> [UInt8] {
        let payload = payload ?? Frame.payload(n: n)
        let frameBytes = NotificationFrame.command2Bytes(tokenBytes: token.count, payloadBytes: payload.count)
        return encoded(frameBytes, token, payload) { token, payload, output in
            NotificationFrame.encodeCommand2(
                identifier: identifier,
                token: token,
                payload: payload,
                expiration: expiration,
                priority: priority,
                into: output
            )
        }
    }

    static func command1(identifier: UInt32, token: [UInt8], n: Int = 0, expiration: UInt32 = .max) -> [UInt8] {
        [1] + bigEndian(identifier) + bigEndian(expiration) + counted(token) + counted(payload(n: n))
    }

    static func command0(token: [UInt8], n: Int = 0) -> [UInt8] {
        [0] + counted(token) + counted(payload(n: n))
    }

    private static func counted(_ data: [UInt8]) -> [UInt8] {
        bigEndian(UInt16(data.count)) + data
    }

    private static func bigEndian(_ number: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: number.bigEndian) { Array($0) }
    }

    static func sentinel(identifier: UInt32) -> [UInt8] {
        encoded(NotificationFrame.sentinelBytes, [], []) { _, _, output in
            NotificationFrame.encodeSentinel(identifier: identifier, into: output)
        }
    }

    private static func encoded(
        _ frameBytes: Int,
        _ token: [UInt8],
        _ payload: [UInt8],
        _ encode: (UnsafeRawBufferPointer, UnsafeRawBufferPointer, UnsafeMutableRawBufferPointer) -> Int
    ) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: frameBytes) { buffer, count in
            count = token.withUnsafeBytes { token in
                payload.withUnsafeBytes { encode(token, $0, UnsafeMutableRawBufferPointer(buffer)) }
            }
        }
    }
}
