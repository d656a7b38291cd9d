import APNsProtocol
import TestSupport
import Testing

@Suite struct GatewayDiscardTests {
    private func frame(_ identifier: Int) -> [UInt8] {
        Frame.command2([Item.identifier(identifier), Item.token, Item.payload])
    }

    private let others =
        Frame.command0(token: Sample.token, payload: Sample.payload)
        + Frame.command1(9, expiration: 3, token: Sample.token, payload: Sample.payload)

    @Test("A refused notification ends the decoding, names its identifier, and what follows is counted")
    func refusal() {
        let stream = frame(1) + frame(2) + frame(3) + others + frame(4)
        for cut in 0...stream.count {
            let run = GatewayRun.decode([[UInt8](stream[..<cut]), [UInt8](stream[cut...])]) {
                $0.identifier == 2 ? .invalidToken : nil
            }.run
            #expect(run.received.map(\.identifier) == [1])
            #expect(run.failure == ErrorResponse(status: .invalidToken, identifier: 2))
            #expect(run.discarded == 4)
        }
    }

    @Test("The callback can refuse with command 0 and 1 too; command 0 is told so that nothing is answered")
    func refusedOldCommands() {
        let zero = GatewayRun.decode([others]) { $0.command == 0 ? .invalidToken : nil }.run
        #expect(zero.failedCommand == 0)
        #expect(zero.failure == ErrorResponse(status: .invalidToken, identifier: 0))
        #expect(zero.discarded == 1)
        let one = GatewayRun.decode([others]) { $0.command == 1 ? .invalidToken : nil }.run
        #expect(one.failedCommand == 1)
        #expect(one.failure == ErrorResponse(status: .invalidToken, identifier: 9))
        #expect(one.discarded == 0)
    }

    @Test("A notification that is cut off behind the refused one is not counted")
    func cutOff() {
        let run = GatewayRun.decode(frame(1) + Frame.command2([]) + frame(2) + frame(3).dropLast())
        #expect(run.failure?.status == .missingDeviceToken)
        #expect(run.discarded == 1)
    }

    @Test("A frame over its limit is passed over without being kept; what follows is counted")
    func overLimit() {
        let huge = Frame.command2([[UInt8](repeating: 0, count: 100_000)])
        let longToken = Frame.command1(1, expiration: 0, token: [UInt8](repeating: 2, count: 65_535), payload: [1])
        for refused in [huge, longToken] {
            var generator = SeededGenerator(seed: 5)
            let stream = refused + others + huge + frame(2)
            let result = GatewayRun.decode(stream.chunked(using: &generator))
            #expect(result.run.discarded == 4)
            #expect(result.mostBufferedBytes <= GatewayLimits().frameLimitBytes)
        }
    }

    @Test("Behind an unknown command framing is lost and nothing more is counted")
    func lostFraming() {
        #expect(GatewayRun.decode([9] + frame(1) + frame(2)).discarded == 0)
        #expect(GatewayRun.decode(Frame.command2([]) + frame(1) + [9] + frame(2)).discarded == 1)
    }

    @Test("Discarded frames are not judged")
    func notJudged() {
        let bad = Frame.command2([Frame.item(9, [1, 2])]) + Frame.command0(token: [], payload: [])
        #expect(GatewayRun.decode(Frame.command2([]) + bad).discarded == 2)
    }
}
