import APNsProtocol
import Testing

/// One way to be malformed and what is answered to it.
struct MalformedCase: CustomTestStringConvertible, Sendable {
    let rule: String
    let frame: [UInt8]
    let status: APNsStatus
    let identifier: UInt32

    init(_ rule: String, _ frame: [UInt8], _ status: APNsStatus, identifier: UInt32) {
        self.rule = rule
        self.frame = frame
        self.status = status
        self.identifier = identifier
    }

    var testDescription: String { rule }

    /// A protocol error is written as 255; the tests replay it with 128 as well.
    static let all: [MalformedCase] =
        missing + sizes + framing + duplicates + fixedSizes + oldCommands

    private static let missing = [
        MalformedCase(
            "no token",
            Frame.command2([Item.identifier(5), Item.payload]),
            .missingDeviceToken,
            identifier: 5
        ),
        MalformedCase(
            "a token of length zero",
            Frame.command2([Item.identifier(5), Frame.item(1, []), Item.payload]),
            .missingDeviceToken,
            identifier: 5
        ),
        MalformedCase(
            "no payload",
            Frame.command2([Item.identifier(5), Item.token]),
            .missingPayload,
            identifier: 5
        ),
        MalformedCase(
            "a payload of length zero",
            Frame.command2([Item.identifier(5), Item.token, Frame.item(2, [])]),
            .missingPayload,
            identifier: 5
        ),
        MalformedCase("no items at all", Frame.command2([]), .missingDeviceToken, identifier: 0),
    ]

    private static let sizes = [
        MalformedCase(
            "a token of 31 bytes",
            Frame.command2([Item.identifier(5), Frame.item(1, [UInt8](1...31)), Item.payload]),
            .invalidTokenSize,
            identifier: 5
        ),
        MalformedCase(
            "a token of 33 bytes, before the identifier was read",
            Frame.command2([Frame.item(1, [UInt8](1...33)), Item.identifier(5), Item.payload]),
            .invalidTokenSize,
            identifier: 0
        ),
        MalformedCase(
            "a payload of 257 bytes",
            Frame.command2([Item.identifier(5), Item.token, Frame.item(2, [UInt8](repeating: 32, count: 257))]),
            .invalidPayloadSize,
            identifier: 5
        ),
        MalformedCase(
            "a payload of 60,000 bytes, before the identifier was read",
            Frame.command2([Frame.item(2, [UInt8](repeating: 32, count: 60_000)), Item.identifier(5), Item.token]),
            .invalidPayloadSize,
            identifier: 0
        ),
    ]

    private static let framing = [
        MalformedCase("command 3", [3, 0, 0, 0, 0], .unknown, identifier: 0),
        MalformedCase("command 8, the gateway's own", [8, 8, 0, 0, 0, 1], .unknown, identifier: 0),
        MalformedCase("command 255", [255], .unknown, identifier: 0),
        MalformedCase(
            "an item that overruns the frame by one byte",
            Frame.command2([Item.identifier(5), Item.token, Frame.item(2, Sample.payload, lengthOverride: 26)]),
            .unknown,
            identifier: 5
        ),
        MalformedCase(
            "an item header that the frame's end cuts after one byte",
            Frame.command2([Item.identifier(5), Item.token, Item.payload, [4]]),
            .unknown,
            identifier: 5
        ),
        MalformedCase(
            "an item header that the frame's end cuts after two bytes",
            Frame.command2([Item.identifier(5), Item.token, Item.payload, [4, 0]]),
            .unknown,
            identifier: 5
        ),
        MalformedCase(
            "an item of unknown id",
            Frame.command2([Item.identifier(5), Item.token, Item.payload, Frame.item(6, [0])]),
            .unknown,
            identifier: 5
        ),
        MalformedCase(
            "an item of id 0",
            Frame.command2([Item.identifier(5), Frame.item(0, []), Item.token, Item.payload]),
            .unknown,
            identifier: 5
        ),
        MalformedCase(
            "a priority that is neither 10 nor 5",
            Frame.command2([Item.identifier(5), Item.token, Item.payload, Frame.item(5, [1])]),
            .unknown,
            identifier: 5
        ),
        MalformedCase(
            "a frame over its limit",
            Frame.command2([Item.identifier(5), Frame.item(2, [UInt8](repeating: 32, count: 65_535)), Item.token]),
            .unknown,
            identifier: 0
        ),
    ]

    private static let duplicates = [
        (1, Item.token), (2, Item.payload), (3, Item.identifier(9)), (4, Item.expiration), (5, Item.priority),
    ].map { id, item in
        MalformedCase(
            "item \(id) twice",
            Frame.command2([Item.identifier(5), Item.token, Item.payload, Item.expiration, Item.priority, item]),
            .unknown,
            identifier: 5
        )
    }

    private static let fixedSizes = [(3, 3), (3, 5), (3, 0), (4, 3), (4, 8), (4, 0), (5, 0), (5, 2)].map { id, length in
        let item = Frame.item(UInt8(id), [UInt8](repeating: 5, count: length))
        return MalformedCase(
            "item \(id) of \(length) bytes",
            Frame.command2([Item.token, item, Item.payload]),
            .unknown,
            identifier: 0
        )
    }

    private static let oldCommands: [MalformedCase] = [
        ([], Sample.payload, .missingDeviceToken),
        ([], [], .missingDeviceToken),
        ([1], Sample.payload, .invalidTokenSize),
        ([1], [], .invalidTokenSize),
        ([UInt8](repeating: 1, count: 65_535), Sample.payload, .invalidTokenSize),
        (Sample.token, [], .missingPayload),
        (Sample.token, [UInt8](repeating: 32, count: 257), .invalidPayloadSize),
        (Sample.token, [UInt8](repeating: 32, count: 65_535), .invalidPayloadSize),
    ].flatMap { (token: [UInt8], payload: [UInt8], status: APNsStatus) in
        let rule = "a token of \(token.count) and a payload of \(payload.count) bytes"
        return [
            MalformedCase(
                "command 1, \(rule)",
                Frame.command1(5, expiration: 1, token: token, payload: payload),
                status,
                identifier: 5
            ),
            MalformedCase("command 0, \(rule)", Frame.command0(token: token, payload: payload), status, identifier: 0),
        ]
    }
}

@Suite struct GatewayMalformedTests {
    private let good = Frame.command2([Item.identifier(4), Item.token, Item.payload])

    @Test("Is answered with its status and the identifier read so far", arguments: MalformedCase.all)
    func answer(malformed: MalformedCase) {
        let run = GatewayRun.decode(good + malformed.frame)
        #expect(run.received.map(\.identifier) == [4])
        #expect(run.failure == ErrorResponse(status: malformed.status, identifier: malformed.identifier))
        #expect(run.failedCommand == malformed.frame.first)
    }

    @Test("Gets the same answer when every byte comes alone", arguments: MalformedCase.all)
    func bytewise(malformed: MalformedCase) {
        let stream = good + malformed.frame + good
        #expect(GatewayRun.decode(stream.map { [$0] }).run == GatewayRun.decode(stream))
    }

    @Test("Is answered with 128 instead of 255 when the gateway is set so", arguments: MalformedCase.all)
    func protocolError(malformed: MalformedCase) {
        let limits = GatewayLimits(protocolErrorStatus: .protocolError)
        let status = malformed.status == .unknown ? .protocolError : malformed.status
        let run = GatewayRun.decode(malformed.frame, limits: limits)
        #expect(run.failure == ErrorResponse(status: status, identifier: malformed.identifier))
    }

    @Test("Sizes exactly at their limits are accepted")
    func atTheLimits() {
        let limits = GatewayLimits(payloadLimitBytes: 2048, tokenBytes: 32...100)
        for token in [32, 100] {
            for payload in [1, 2048] {
                let items = [
                    Frame.item(1, [UInt8](repeating: 1, count: token)),
                    Frame.item(2, [UInt8](repeating: 2, count: payload)),
                ]
                let run = GatewayRun.decode(Frame.command2(items), limits: limits)
                #expect(run.received.map(\.payload.count) == [payload])
            }
        }
    }
}
