import APNsProtocol
import HTTP2Transport
import NIOCore
import SeededNumbers

@testable import Sandbox
@testable import TLSTransport

/// A connection to the provider API meets any bytes of a client, down to the topics' ledgers.
///
/// The stream may hold stand-ins for genuine tokens in hexadecimal digits, see ``TokenStandIns``, and for a provider
/// token, see ``ProviderTokenStandIn``. The first topic has two channels.
///
/// Settings: bit 0, preface and SETTINGS of the client stand before the stream; 1, it shows no certificate; 2, `h2` was
/// not agreed on by ALPN; 3 to 7, the faults `request-error`, `stream-reset`, `goaway-after`, `stream-limit` and
/// `answer-delay`.
struct APIFuzz {
    private static let key = [UInt8](0..<32)
    private static let devices = 8
    private static let topics = ["com.example.fuzz", "a"]
    /// UNIX seconds.
    static let now: UInt32 = 1_000_000
    /// The ids of the channels: the second one stores messages.
    static let channels: [String] = {
        var random = channelRandom
        return (0..<2).map { _ in ChannelID.text(high: random.next(), low: random.next()) }
    }()
    private static let channelRandom = SeededGenerator(seed: 7)
    /// The shortest request that can be accepted: two frames' heads, four indexed fields, a payload of one.
    private static let shortestBytes = 23

    private let input: FuzzInput
    private let stream: [UInt8]
    private let mint: TokenMint

    init(_ input: FuzzInput) {
        self.input = input
        mint = TokenMint(key: Self.key, environment: .development, topic: Self.topics[0])
        let standIns = TokenStandIns(mint: mint, devices: Self.devices, isText: true)
        let opening = input.isSet(0) ? HTTP2Frames.preface + HTTP2Frames.frame(4, 0, stream: 0, []) : []
        stream = opening + ProviderTokenStandIn.replaced(in: standIns.replaced(in: input.stream))
    }

    func run() throws(BrokenInvariant) {
        let said = try talk()
        try expect(try talk() == said, "the same bytes are answered in another way the second time")
        try expect(said.count <= 8192 + 64 * stream.count, "\(said.count) bytes are said to \(stream.count)")
        // A client of HTTP/1 is told so in its own words.
        if !said.starts(with: "HTTP/1.1".utf8) { try HTTP2Frames.check(said[...]) }
    }

    /// - Returns: all that the service says.
    func talk() throws(BrokenInvariant) -> [UInt8] {
        let service = makeService()
        let session = APISession(
            service: service,
            certificate: input.isSet(1) ? nil : Self.certificate,
            keys: [try ProviderTokenStandIn.key(bundles: [Self.topics[0]])],
            isHTTP2: !input.isSet(2),
            seed: 1
        )
        var clock = NIODeadline.uptimeNanoseconds(1_000_000_000)
        var said = ByteBuffer()
        session.takeOutput(into: &said)
        for chunk in Chunking.asGiven.cut(stream, sizes: input.chunkSizes) {
            // The connection is closed behind the last output.
            guard session.outlook == .open else { break }
            session.receive(ByteBuffer(bytes: chunk), now: APISession.Time(clock: clock, unixSeconds: Self.now))
            if let wake = session.nextWake {
                try expect(session.isHolding && wake >= clock, "a wake without something that waits")
                clock = max(clock, wake)
                session.wake(now: APISession.Time(clock: clock, unixSeconds: Self.now))
            }
            session.takeOutput(into: &said)
        }
        for topic in service.topics { try check(topic) }
        return Array(said.readableBytesView)
    }

    private func makeService() -> PushService {
        var configuration = SandboxConfiguration(pkiDirectory: "", topics: Self.topics, devices: Self.devices)
        configuration.ledger.rememberedPairs = 256
        configuration.ledger.acceptedEntries = 256
        configuration.ledger.storageMiB = 1
        let service = PushService(configuration: configuration, tokenKey: Self.key, clock: { Self.now })
        let behaviours: [Fault.Behaviour] = [
            .requestError(Fault.RequestError(reason: .tooManyRequests, selection: .every(2))),
            .streamReset(Fault.StreamReset(selection: .every(3))), .goAwayAfter(Fault.GoAway(count: 3)),
            .streamLimit(count: 2), .answerDelay(milliseconds: 5),
        ]
        let states: [DevicePopulation.Reachability] = [.online, .offline, .uninstalled, .offline, .removed]
        for topic in service.topics {
            topic.withLedger { ledger in
                if topic.name == Self.topics[0] { Self.makeChannels(&ledger) }
                for device in 0..<Self.devices { ledger.set(device, states[device % states.count], now: Self.now) }
                for (index, behaviour) in behaviours.enumerated() where input.isSet(3 + index) {
                    ledger.faults.arm(Fault(behaviour))
                }
            }
        }
        return service
    }

    private static func makeChannels(_ ledger: inout DeviceLedger) {
        var random = channelRandom
        for (index, channel) in channels.enumerated() {
            _ = ledger.channels.create(storesMessages: index == 1, random: &random)
            _ = ledger.channels.setSubscribed(true, 0..<UInt32(devices), to: channel)
        }
    }

    private static let certificate = CertificateInfo(
        topic: topics[0],
        topics: [topics[0], topics[0] + ".voip"],
        environments: .development,
        commonName: "",
        serialHex: "",
        notBefore: 0,
        notAfter: 0
    )

    private func check(_ topic: PushService.Topic) throws(BrokenInvariant) {
        let counters = topic.withLedger { $0.counters }
        try FuzzLedger.checkBooks(counters)
        let room = stream.count / Self.shortestBytes
        try expect(counters.accepted <= room, "more accepted than the stream has room for")
        try expect(counters.accepted == 0 || topic.name == Self.topics[0], "accepted for a topic without tokens")
        let channels = topic.withLedger { $0.channels.counters }
        let hasCredential = !input.isSet(1) || stream.contains(part: ProviderTokenStandIn.token)
        try expect(hasCredential || counters.accepted + channels.accepted == 0, "accepted without a credential")
        try expect(channels.accepted == 0 || topic.name == Self.topics[0], "a broadcast for another provider's app")
        try expect(
            min(channels.delivered, channels.stored, channels.missed) >= 0
                && channels.delivered + channels.stored + channels.missed <= channels.accepted * Self.devices,
            "a broadcast has several fates for some subscriber"
        )
        try checkOwners(topic)
    }

    /// A notification is accepted only for an app whose token was in the stream.
    private func checkOwners(_ topic: PushService.Topic) throws(BrokenInvariant) {
        let lowered = stream.map { UInt8(ascii: "A")...UInt8(ascii: "F") ~= $0 ? $0 | 0x20 : $0 }
        for device in 0..<UInt32(Self.devices) {
            let entries = topic.withLedger { $0.log.entries(device: device, generation: nil) }
            for generation in Set(entries.map(\.instance.generation)) {
                let wasSent = TokenStandIns.lengths.contains { length in
                    let instance = AppInstance(device: device, generation: generation, tokenBytes: length)
                    return lowered.contains(part: Array(Hex.encode(mint.token(of: instance)).utf8))
                }
                try expect(wasSent, "accepted for device \(device), generation \(generation), whose token was not sent")
            }
        }
    }
}
