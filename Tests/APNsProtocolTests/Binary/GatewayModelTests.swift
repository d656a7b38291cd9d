import APNsProtocol
import TestSupport
import Testing

/// The decoder against a model of the gateway, over streams that are mostly right and a little wrong.
@Suite struct GatewayModelTests {
    /// Small limits, so that chance meets every one of them.
    private static let limits = GatewayLimits(payloadLimitBytes: 12, tokenBytes: 3...5, frameLimitBytes: 64)

    private static func refuse(_ notification: Received) -> APNsStatus? {
        notification.token.last == 0xEE ? .invalidToken : nil
    }

    /// - Parameter errorPercent: the chance of each part to be wrong.
    private func frame(errorPercent: Int, using generator: inout SeededGenerator) -> [UInt8] {
        let tokenBytes = generator.chance(errorPercent) ? 0...9 : 3...5
        let payloadBytes = generator.chance(errorPercent) ? 0...40 : 1...12
        let token = generator.bytes(Int.random(in: tokenBytes, using: &generator))
        let payload = generator.bytes(Int.random(in: payloadBytes, using: &generator))
        let identifier = Int.random(in: 0...0xFFFF_FFFF, using: &generator)
        switch Int.random(in: 0..<4, using: &generator) {
        case 0:
            return Frame.command0(token: token, payload: payload)
        case 1:
            return Frame.command1(identifier, expiration: 1, token: token, payload: payload)
        default:
            var items = [
                Frame.item(1, token), Frame.item(2, payload), Item.identifier(identifier), Item.expiration,
                Item.priority,
            ].shuffled(using: &generator)
            if generator.chance(errorPercent), let item = items.randomElement(using: &generator) { items.append(item) }
            if generator.chance(errorPercent) { items.removeLast() }
            if generator.chance(errorPercent) { items.append(Frame.item(6, [])) }
            let content = items.reduce(0) { $0 + $1.count }
            let skew = generator.chance(errorPercent) ? Int.random(in: -5...5, using: &generator) : 0
            return Frame.command2(items, lengthOverride: content + skew)
        }
    }

    private func stream(using generator: inout SeededGenerator) -> [UInt8] {
        let errorPercent = [0, 2, 10].randomElement(using: &generator) ?? 0
        var stream: [UInt8] = []
        for _ in 0..<Int.random(in: 1...25, using: &generator) {
            stream += frame(errorPercent: errorPercent, using: &generator)
        }
        if generator.chance(20), let index = stream.indices.randomElement(using: &generator) {
            stream[index] = UInt8.random(in: 0...255, using: &generator)
        }
        if generator.chance(30) { stream.removeLast(Int.random(in: 0...min(30, stream.count), using: &generator)) }
        return stream
    }

    @Test("Agrees with the model on every stream, however it is cut")
    func agreement() {
        let model = GatewayModel(limits: Self.limits, refuse: Self.refuse)
        var statuses: [APNsStatus: Int] = [:]
        for seed in 0..<20_000 {
            var generator = SeededGenerator(seed: UInt64(seed))
            let stream = stream(using: &generator)
            let expected = model.run(stream)
            let result = GatewayRun.decode(
                stream.chunked(using: &generator),
                limits: Self.limits,
                refuse: Self.refuse
            )
            #expect(result.run == expected, "seed \(seed)")
            #expect(result.mostBufferedBytes <= Self.limits.frameLimitBytes, "seed \(seed)")
            if let status = expected.failure?.status { statuses[status, default: 0] += 1 }
        }
        let all: [APNsStatus] = [
            .missingDeviceToken, .missingPayload, .invalidTokenSize, .invalidPayloadSize, .invalidToken, .unknown,
        ]
        for status in all {
            #expect(statuses[status, default: 0] > 50, "the streams hardly ever provoke \(status)")
        }
    }

    @Test("Agrees with the model on noise")
    func noise() {
        let model = GatewayModel(limits: Self.limits, refuse: Self.refuse)
        for seed in 0..<20_000 {
            var generator = SeededGenerator(seed: UInt64(seed))
            // Small numbers, so that lengths are plausible.
            let stream = (0..<60).map { _ in UInt8.random(in: 0...6, using: &generator) }
            let run = GatewayRun.decode(stream.chunked(using: &generator), limits: Self.limits).run
            #expect(run == model.run(stream), "seed \(seed)")
        }
    }
}
