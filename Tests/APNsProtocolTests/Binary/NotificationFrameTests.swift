import APNsProtocol
import TestSupport
import Testing

@Suite struct NotificationFrameTests {
    /// Encodes into a buffer with a guard area that must stay untouched.
    private func encoded(_ size: Int, _ encode: (UnsafeMutableRawBufferPointer) -> Int) -> [UInt8] {
        var buffer = [UInt8](repeating: 0xA5, count: size + 16)
        let written = buffer.withUnsafeMutableBytes(encode)
        #expect(written == size)
        #expect(buffer[size...].allSatisfy { $0 == 0xA5 })
        return [UInt8](buffer.prefix(written))
    }

    private func command2(identifier: UInt32, token: [UInt8], payload: [UInt8]) -> [UInt8] {
        let size = NotificationFrame.command2Bytes(tokenBytes: token.count, payloadBytes: payload.count)
        return encoded(size) { output in
            token.withUnsafeBytes { token in
                payload.withUnsafeBytes { payload in
                    NotificationFrame.encodeCommand2(
                        identifier: identifier,
                        token: token,
                        payload: payload,
                        expiration: 1_700_000_000,
                        priority: .powerSaving,
                        into: output
                    )
                }
            }
        }
    }

    @Test("Command 2 has its five items in the order identifier, token, payload, expiration, priority")
    func command2Layout() {
        let frame = command2(identifier: 0xDEAD_BEEF, token: Sample.token, payload: Sample.payload)
        #expect(
            frame
                == Frame.command2([
                    Item.identifier(0xDEAD_BEEF), Item.token, Item.payload, Item.expiration, Item.priority,
                ])
        )
    }

    @Test("A patched identifier makes the frame that encoding with it would have made")
    func patch() {
        var frame = command2(identifier: 1, token: Sample.token, payload: Sample.payload)
        frame.withUnsafeMutableBytes { NotificationFrame.patchIdentifier(0x8000_0001, in: $0) }
        #expect(frame == command2(identifier: 0x8000_0001, token: Sample.token, payload: Sample.payload))
        #expect(frame[NotificationFrame.command2IdentifierOffset] == 0x80)
    }

    @Test("The token is found again in a frame of this encoder, where it lies")
    func tokenOfFrame() {
        for length in [1, 32, 100, 300] {
            let token = [UInt8](repeating: 0xAB, count: length)
            let frame = command2(identifier: 1, token: token, payload: Sample.payload)
            frame.withUnsafeBytes { bytes in
                let found = NotificationFrame.command2Token(in: bytes)
                #expect([UInt8](found) == token)
                #expect(found.baseAddress == bytes.baseAddress.map { $0 + 15 })
            }
        }
    }

    @Test("Looking for the token in a frame that is cut inside it traps")
    func tokenOfCutFrame() async {
        await #expect(processExitsWith: .failure) {
            let frame = Frame.command2([Item.identifier(1), Item.token]).dropLast()
            _ = [UInt8](frame).withUnsafeBytes { NotificationFrame.command2Token(in: $0).count }
        }
    }

    @Test("The sentinel is answered with status 2 and its identifier")
    func sentinel() {
        let frame = encoded(NotificationFrame.sentinelBytes) {
            NotificationFrame.encodeSentinel(identifier: 77, into: $0)
        }
        #expect(frame == Frame.command2([Item.identifier(77), Frame.item(1, [])]))
        #expect(GatewayRun.decode(frame).failure == ErrorResponse(status: .missingDeviceToken, identifier: 77))
    }

    @Test("Every notification is decoded as it was encoded, in all three commands")
    func roundTrip() {
        var generator = SeededGenerator(seed: 1)
        let limits = GatewayLimits(payloadLimitBytes: 2048, tokenBytes: 1...100)
        for _ in 0..<500 {
            let token = generator.bytes(Int.random(in: 1...100, using: &generator))
            let payload = generator.bytes(Int.random(in: 1...2048, using: &generator))
            let identifier = UInt32.random(in: 0...UInt32.max, using: &generator)
            let expected = Received(
                command: 2,
                identifier: identifier,
                expiration: 1_700_000_000,
                priority: .powerSaving,
                token: token,
                payload: payload
            )
            let frame = command2(identifier: identifier, token: token, payload: payload)
            #expect(GatewayRun.decode(frame, limits: limits) == GatewayRun(received: [expected]))
        }
    }

    @Test("A buffer one byte too short traps instead of being overrun")
    func shortBuffer() async {
        await #expect(processExitsWith: .failure) {
            let token = [UInt8](repeating: 1, count: 32)
            let size = NotificationFrame.command2Bytes(tokenBytes: 32, payloadBytes: 32)
            var buffer = [UInt8](repeating: 0, count: size - 1)
            token.withUnsafeBytes { token in
                buffer.withUnsafeMutableBytes {
                    _ = NotificationFrame.encodeCommand2(
                        identifier: 1,
                        token: token,
                        payload: token,
                        expiration: 0,
                        priority: .immediate,
                        into: $0
                    )
                }
            }
        }
    }

    @Test("A payload whose length does not fit 16 bits traps instead of being framed wrongly")
    func longPayload() async {
        await #expect(processExitsWith: .failure) {
            let payload = [UInt8](repeating: 1, count: 65_536)
            var buffer = [UInt8](repeating: 0, count: 70_000)
            payload.withUnsafeBytes { payload in
                buffer.withUnsafeMutableBytes {
                    let token = UnsafeRawBufferPointer(rebasing: payload[..<32])
                    _ = NotificationFrame.encodeCommand2(
                        identifier: 1,
                        token: token,
                        payload: payload,
                        expiration: 0,
                        priority: .immediate,
                        into: $0
                    )
                }
            }
        }
    }

    @Test("Only a frame that begins with its identifier can be patched")
    func patchOther() async {
        await #expect(processExitsWith: .failure) {
            var frame = Frame.command2([Item.token, Item.identifier(1), Item.payload])
            frame.withUnsafeMutableBytes { NotificationFrame.patchIdentifier(2, in: $0) }
        }
    }
}
