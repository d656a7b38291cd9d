import APNsProtocol
import Testing

@Suite struct GatewayFrameDecoderTests {
    private let complete = Received(
        command: 2,
        identifier: 42,
        expiration: 1_700_000_000,
        priority: .powerSaving,
        token: Sample.token,
        payload: Sample.payload
    )

    @Test("The items of command 2 may stand in any order")
    func permutations() {
        let items = [Item.identifier(42), Item.token, Item.payload, Item.expiration, Item.priority]
        let orders = items.permutations
        #expect(orders.count == 120)
        for order in orders {
            #expect(GatewayRun.decode(Frame.command2(order)) == GatewayRun(received: [complete]))
        }
    }

    @Test("Absent items read as identifier 0, no end of the storing, and priority 10")
    func defaults() {
        let run = GatewayRun.decode(Frame.command2([Item.token, Item.payload]))
        let expected = Received(
            command: 2,
            identifier: 0,
            expiration: .max,
            priority: .immediate,
            token: Sample.token,
            payload: Sample.payload
        )
        #expect(run == GatewayRun(received: [expected]))
    }

    @Test("Command 1 is of priority 10; command 0 has no identifier and never expires")
    func oldCommands() {
        let stream =
            Frame.command1(7, expiration: 0, token: Sample.token, payload: Sample.payload)
            + Frame.command0(token: Sample.token, payload: Sample.payload)
        var expected = [complete, complete]
        expected[0].command = 1
        expected[0].identifier = 7
        expected[0].expiration = 0
        expected[0].priority = .immediate
        expected[1].command = 0
        expected[1].identifier = 0
        expected[1].expiration = .max
        expected[1].priority = .immediate
        #expect(GatewayRun.decode(stream) == GatewayRun(received: expected))
    }

    @Test("A stream of all commands is decoded the same at every place where it can be cut in two")
    func everyCut() {
        let stream =
            Frame.command2([Item.identifier(1), Item.token, Item.payload])
            + Frame.command0(token: Sample.token, payload: Sample.payload)
            + Frame.command1(2, expiration: 3, token: Sample.token, payload: Sample.payload)
            + Frame.command2([Item.payload, Item.priority, Item.token, Item.identifier(3)])
        let whole = GatewayRun.decode(stream)
        #expect(whole.received.count == 4)
        for cut in 0...stream.count {
            let chunks = [[UInt8](stream[..<cut]), [UInt8](stream[cut...])]
            #expect(GatewayRun.decode(chunks).run == whole)
        }
    }

    @Test("A frame that the stream's end cuts off is nothing, even when its beginning is malformed")
    func cutOff() {
        let frames = [
            Frame.command2([Item.identifier(1), Item.token, Item.payload]),
            Frame.command2([Item.identifier(1), Frame.item(1, []), Frame.item(9, [])]),
            Frame.command1(2, expiration: 3, token: [1], payload: [2, 3]),
            Frame.command0(token: [], payload: []),
        ]
        for frame in frames {
            for length in 1..<frame.count {
                let run = GatewayRun.decode([UInt8](frame.prefix(length)))
                #expect(run == GatewayRun(bufferedBytes: length))
            }
        }
    }

    @Test("A frame in place is handed out where it lies; nothing stays in the decoder")
    func inPlace() {
        let stream = Frame.command2([Item.identifier(1), Item.token, Item.payload])
        var decoder = GatewayFrameDecoder(limits: GatewayLimits())
        stream.withUnsafeBytes { bytes in
            _ = decoder.decode(bytes) { view in
                #expect(view.token.baseAddress == bytes.baseAddress.map { $0 + 15 })
                return nil
            }
        }
        #expect(decoder.bufferedBytes == 0)
    }

    @Test("Memory is bounded by the frame limit whatever lengths are announced")
    func bounded() {
        let limits = GatewayLimits(frameLimitBytes: 4096)
        let endless = [UInt8](repeating: 0x41, count: 10_000)
        let streams = [
            [2] + Frame.bigEndian(0xFFFF_FFFF, bytes: 4) + endless,
            [2] + Frame.bigEndian(4091, bytes: 4) + endless,
            [1] + Frame.bigEndian(1, bytes: 8) + [0xFF, 0xFF] + endless,
            [0, 0, 32] + Sample.token + [0xFF, 0xFF] + endless,
            [0, 0, 33] + Sample.token + [0x0F, 0xA0] + endless,
        ]
        for stream in streams {
            let result = GatewayRun.decode(stream.map { [$0] }, limits: limits)
            #expect(result.mostBufferedBytes <= 4096)
            #expect(result.run.failure != nil)
            #expect(result.run.bufferedBytes == 0)
        }
    }

    @Test("Limits that contradict each other trap")
    func contradictingLimits() async {
        await #expect(processExitsWith: .failure) {
            _ = GatewayLimits(payloadLimitBytes: 2048, frameLimitBytes: 2048)
        }
        await #expect(processExitsWith: .failure) {
            _ = GatewayLimits(protocolErrorStatus: .invalidToken)
        }
        await #expect(processExitsWith: .failure) {
            _ = GatewayLimits(tokenBytes: 0...32)
        }
    }
}
