import NIOCore
import TestSupport
import Testing

@testable import RedisClient

@Suite("Sent commands")
struct SentBytesTests {
    @Test("The oldest without reply is found, however they were put into buffers")
    func order() {
        for seed in 0..<50 as Range<UInt64> {
            var random = SeededGenerator(seed: seed)
            var sent = SentBytes()
            var expected: [[UInt8]] = []
            for _ in 0..<200 {
                if Bool.random(using: &random) {
                    var buffer = ByteBuffer()
                    for _ in 0..<Int.random(in: 1...4, using: &random) {
                        let command = [UInt8.random(in: 0...255, using: &random)] + random.bytes(upTo: 20)
                        expected.append(command)
                        buffer.writeBytes(command)
                    }
                    sent.append(buffer)
                } else if !expected.isEmpty {
                    let command = expected.removeFirst()
                    #expect(Array(sent.firstCommand(byteCount: command.count).readableBytesView) == command)
                    sent.removeFirst(byteCount: command.count)
                } else {
                    sent.removeAll()
                }
            }
        }
    }
}
