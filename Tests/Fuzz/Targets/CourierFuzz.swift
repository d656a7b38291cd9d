@testable import APNsProtocol
@testable import Sandbox

/// A device's connection to the courier, and a device's client, meet any bytes of the other side.
///
/// The stream may hold stand-ins for genuine tokens, see ``TokenStandIns``.
///
/// Settings: bit 0, a notification is sent to every device after each chunk.
struct CourierFuzz {
    private static let key = [UInt8](0..<32)
    private static let devices = 8
    private static let topics = ["a", "com.example.fuzz"]
    /// UNIX seconds.
    private static let now: UInt32 = 1_000_000
    /// The one that is connected.
    private static let device: UInt32 = 3

    private let input: FuzzInput
    private let stream: [UInt8]

    init(_ input: FuzzInput) {
        self.input = input
        stream = TokenStandIns(mint: Desk.mint(Self.topics[0]), devices: Self.devices).replaced(in: input.stream)
    }

    func run() throws(BrokenInvariant) {
        let whole = try talk(.atOnce)
        let cut = try talk(.asGiven)
        if !input.isSet(0) {
            try expect(whole == cut, "what the service says depends on how the stream is cut")
        }
        try expect(readAsDevice(.atOnce) == readAsDevice(.asGiven), "what a device reads depends on how it is cut")
    }

    /// The service's side: requests of any kind.
    private func talk(_ chunking: Chunking) throws(BrokenInvariant) -> [CourierMessage] {
        let desk = Desk(topics: Self.topics, devices: Self.devices, key: Self.key)
        var session = CourierSession(device: Self.device, connection: 1)
        var said: [CourierMessage] = []
        for chunk in chunking.cut(stream, sizes: input.chunkSizes) {
            let wasFinished = session.isFinished
            let output = chunk.withUnsafeBytes { session.receive($0, desk: desk, now: Self.now) }
            said += output.messages
            try expect(!wasFinished || output == CourierSession.Output(), "the service speaks behind its last word")
            try expect(!output.isLast || session.isFinished, "the last word, and the connection goes on")
            if input.isSet(0) { said += try notify(desk, &session) }
        }
        for message in said { try check(message, desk) }
        try checkOthers(desk)
        session.ended(desk: desk, now: Self.now)
        for topic in Self.topics.indices {
            try expect(desk.withLedger(of: topic) { $0.outbox.isEmpty }, "a connection that ended is still attached")
            try FuzzLedger.checkBooks(desk.withLedger(of: topic) { $0.counters })
        }
        return said
    }

    /// Every device gets a notification; what the connection fetches has to be its device's.
    private func notify(_ desk: Desk, _ session: inout CourierSession) throws(BrokenInvariant) -> [CourierMessage] {
        var said: [CourierMessage] = []
        for topic in Self.topics.indices {
            desk.notifyAll(topic, now: Self.now)
            let output = session.collect(topic: topic, desk: desk)
            said += output.messages
            try expect(output.messages.count <= SandboxLimits.courierBatch, "more than a batch at once")
        }
        return said
    }

    /// Nothing is said that another device's token, or none of this service's, is in.
    private func check(_ message: CourierMessage, _ desk: Desk) throws(BrokenInvariant) {
        try expect(message.encoded != nil, "a message does not fit into a frame")
        let token: [UInt8]
        switch message {
        case .token(_, let own): token = own
        case .notification(let notification): token = notification.token
        default: return
        }
        let owner = desk.open(token)?.instance.device
        try expect(
            owner == Self.device,
            "device \(Self.device) was told a token of \(owner.map(String.init) ?? "nobody")"
        )
    }

    /// The others' apps stay as they were, whatever one device asks for.
    private func checkOthers(_ desk: Desk) throws(BrokenInvariant) {
        for topic in Self.topics.indices {
            let population = desk.withLedger(of: topic) { $0.population }
            for device in 0..<Self.devices where device != Int(Self.device) {
                let instance = AppInstance(device: UInt32(device))
                try expect(population.reachability(of: instance) == .online, "device \(device) was changed by another")
            }
        }
    }

    /// The other side: what a device makes of a service's stream.
    private func readAsDevice(_ chunking: Chunking) -> [CourierMessage] {
        var decoder = CourierFrameDecoder()
        var messages: [CourierMessage] = []
        for chunk in chunking.cut(stream, sizes: input.chunkSizes) {
            chunk.withUnsafeBytes { decoder.append($0) }
            do throws(CourierMalformation) {
                while let frame = try decoder.next() { messages.append(try CourierMessage(frame)) }
            } catch {
                return messages
            }
        }
        return messages
    }
}

extension CourierFuzz {
    /// Topics without a service around them.
    private final class Desk: CourierDesk {
        let devices: Int
        private let topics: [String]
        private let mints: [TokenMint]
        private var ledgers: [DeviceLedger]

        init(topics: [String], devices: Int, key: [UInt8]) {
            self.devices = devices
            self.topics = topics
            mints = topics.map { Self.mint($0) }
            ledgers = topics.map { _ in FuzzLedger.make(devices: devices) }
        }

        static func mint(_ topic: String) -> TokenMint {
            TokenMint(key: CourierFuzz.key, environment: .development, topic: topic)
        }

        func topic(named name: String) -> Int? {
            topics.firstIndex(of: name)
        }

        func name(of topic: Int) -> String {
            topics[topic]
        }

        func open(_ token: [UInt8]) -> (topic: Int, instance: AppInstance)? {
            for (index, mint) in mints.enumerated() {
                if let instance = token.withUnsafeBytes(mint.open) { return (index, instance) }
            }
            return nil
        }

        func token(of instance: AppInstance, topic: Int) -> [UInt8] {
            mints[topic].token(of: instance)
        }

        func withLedger<Result>(of topic: Int, _ body: (inout DeviceLedger) -> Result) -> Result {
            body(&ledgers[topic])
        }

        func notifyAll(_ topic: Int, now: UInt32) {
            let payload = Array(#"{"aps":{"alert":"hi"}}"#.utf8)
            for device in 0..<devices {
                let instance = ledgers[topic].population.instance(device)
                let token = token(of: instance, topic: topic)
                token.withUnsafeBytes { token in
                    payload.withUnsafeBytes { payload in
                        let notification = NotificationView(
                            command: 2,
                            identifier: 1,
                            expiration: .max,
                            priority: .immediate,
                            token: token,
                            payload: payload
                        )
                        _ = ledgers[topic].accept(notification, for: instance, now: now)
                    }
                }
            }
        }
    }
}
