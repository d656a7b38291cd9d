import APNsProtocol

@testable import Sandbox

/// A gateway connection and its topic meet any bytes of a provider.
///
/// A fuzzer guesses no token, so the stream may hold stand-ins for genuine ones, see ``TokenStandIns``.
///
/// Settings: bit 0, payloads up to 2048 bytes; 1, tokens up to 100; 2, status 128; 3 to 7, the faults `shutdown-after`,
/// `close-after`, `stall-after`, `reset-after` and `sentinel-silence`.
struct GatewayFuzz {
    private static let key = [UInt8](0..<32)
    private static let devices = 8
    /// The shortest notification that can be accepted: command 0, a token of 32 bytes, a payload of one.
    private static let shortestBytes = 38

    private let input: FuzzInput
    private let stream: [UInt8]
    private let limits: GatewayLimits
    private let mint: TokenMint

    init(_ input: FuzzInput) {
        self.input = input
        limits = GatewayLimits(
            payloadLimitBytes: input.isSet(0) ? PayloadLimit.binaryIOS8 : PayloadLimit.binary2013,
            tokenBytes: TokenMint
                .tokenBytes...(input.isSet(1) ? TokenMint.tokenLengths.upperBound : TokenMint.tokenBytes),
            protocolErrorStatus: input.isSet(2) ? .protocolError : .unknown
        )
        mint = TokenMint(key: Self.key, environment: .development, topic: "com.example.fuzz")
        stream = TokenStandIns(mint: mint, devices: Self.devices).replaced(in: input.stream)
    }

    func run() throws(BrokenInvariant) {
        let world = try talk(.atOnce, World.mixed(Self.devices))
        let cut = try talk(.asGiven, World.mixed(Self.devices))
        try expect(cut.answers == world.answers, "the answer depends on how the stream is cut")
        try expect(cut.ledger.counters == world.ledger.counters, "the counts depend on how the stream is cut")
        try checkAnswer(world.answers)
        try FuzzLedger.checkBooks(world.ledger.counters)
        try checkOwners(world.ledger)
        try checkFeedback()
        var ledger = world.ledger
        // Time passes, and every device comes back or gets another token: what is stored has to find its end.
        _ = ledger.releaseHeld(now: World.now + 1)
        try FuzzLedger.checkBooks(ledger.counters)
        for device in 0..<Self.devices {
            if device.isMultiple(of: 4) { ledger.renew(device, now: World.now + 1) }
            ledger.set(device, .online, now: World.now + 1)
        }
        try FuzzLedger.checkBooks(ledger.counters)
    }

    /// One connection, and the topic that it changes.
    private struct World {
        /// UNIX seconds.
        static let now: UInt32 = 1_000_000

        var ledger: DeviceLedger
        var now = World.now
        var answers: [GatewaySession.Action] = []
        var stalls = 0

        /// Devices in all states.
        static func mixed(_ devices: Int) -> World {
            var world = World(ledger: FuzzLedger.make(devices: devices))
            let states: [DevicePopulation.Reachability] = [.online, .offline, .uninstalled, .offline, .removed]
            for device in 0..<devices { world.ledger.set(device, states[device % states.count], now: now) }
            return world
        }

        /// All apps are gone, at a time before every expiration: each one that is accepted is in the feedback list.
        static func deserted(_ devices: Int) -> World {
            var world = World(ledger: FuzzLedger.make(devices: devices), now: 0)
            for device in 0..<devices { world.ledger.set(device, .uninstalled, now: 0) }
            return world
        }
    }

    private func talk(_ chunking: Chunking, _ world: World) throws(BrokenInvariant) -> World {
        var world = world
        arm(&world.ledger.faults)
        var session = GatewaySession(limits: limits)
        for chunk in chunking.cut(stream, sizes: input.chunkSizes) {
            var rest = chunk
            while !rest.isEmpty { rest = try take(rest, &session, &world) }
        }
        try expect(world.answers.count <= 1, "the last word was said \(world.answers.count) times")
        try expect(world.answers.isEmpty || session.isFinished, "an answer, and the connection goes on")
        let room = stream.count / Self.shortestBytes
        try expect(world.ledger.counters.accepted <= room, "more accepted than the stream has room for")
        return world
    }

    /// - Returns: what is to come again when a stall is over.
    private func take(
        _ chunk: ArraySlice<UInt8>,
        _ session: inout GatewaySession,
        _ world: inout World
    ) throws(BrokenInvariant) -> ArraySlice<UInt8> {
        let before = (isFinished: session.isFinished, accepted: world.ledger.counters.accepted)
        let action = chunk.withUnsafeBytes {
            session.receive($0, mint: mint, ledger: &world.ledger, now: world.now)
        }
        let held = session.bufferedBytes
        try expect(held <= limits.frameLimitBytes, "\(held) bytes are held of one frame")
        let accepted = world.ledger.counters.accepted
        try expect(!before.isFinished || accepted == before.accepted, "accepted behind the last word")
        switch action {
        case .read:
            return []
        case .stall(let takenBytes, _):
            try expect((0...chunk.count).contains(takenBytes), "\(takenBytes) of \(chunk.count) bytes were taken")
            world.stalls += 1
            try expect(world.stalls == 1, "one stall struck twice")
            return chunk.dropFirst(takenBytes)
        case .finish, .reset:
            world.answers.append(action)
            return []
        }
    }

    private func arm(_ faults: inout FaultPlan) {
        let behaviours: [Fault.Behaviour] = [
            .shutdownAfter(count: 3), .closeAfter(count: 2), .stallAfter(count: 2, milliseconds: nil),
            .resetAfter(count: 4), .sentinelSilence,
        ]
        for (index, behaviour) in behaviours.enumerated() where input.isSet(3 + index) {
            faults.arm(Fault(behaviour))
        }
    }

    /// An answer names a notification of this stream, or none.
    private func checkAnswer(_ answers: [GatewaySession.Action]) throws(BrokenInvariant) {
        guard case .finish(let answer?, _)? = answers.first, answer.identifier != 0 else { return }
        let identifier = withUnsafeBytes(of: answer.identifier.bigEndian) { Array($0) }
        try expect(stream.contains(part: identifier), "identifier \(answer.identifier) was never sent")
    }

    /// A notification is accepted only for an app whose token was in the stream.
    private func checkOwners(_ ledger: DeviceLedger) throws(BrokenInvariant) {
        for device in 0..<UInt32(Self.devices) {
            for generation in Set(ledger.log.entries(device: device, generation: nil).map(\.instance.generation)) {
                let wasSent = TokenStandIns.lengths.contains { length in
                    let instance = AppInstance(device: device, generation: generation, tokenBytes: length)
                    return stream.contains(part: mint.token(of: instance))
                }
                try expect(wasSent, "accepted for device \(device), generation \(generation), whose token was not sent")
            }
        }
    }

    /// The same of the feedback list, which names the very token that was sent.
    private func checkFeedback() throws(BrokenInvariant) {
        var world = try talk(.asGiven, World.deserted(Self.devices))
        let counters = world.ledger.counters
        try expect(counters.feedback == counters.accepted, "not all that was accepted found its app missing")
        for entry in world.ledger.takeFeedback() {
            try expect(stream.contains(part: mint.token(of: entry.instance)), "no token of \(entry.instance) was sent")
        }
    }
}
