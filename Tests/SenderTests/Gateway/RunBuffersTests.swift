import NIOCore
import Testing

@testable import Sender

@Suite("Memory for what a lane writes")
struct RunBuffersTests {
    private let buffers = RunBuffers()

    private func copy(_ text: String, at place: Int = 0) -> ByteBuffer {
        Array(text.utf8).withUnsafeBytes { buffers.copy($0, at: place) }
    }

    private func address(of buffer: ByteBuffer) -> Int {
        buffer.withUnsafeReadableBytes { Int(bitPattern: $0.baseAddress) }
    }

    @Test("Memory that the connection has let go of is used again")
    func isUsedAgain() {
        let first = address(of: copy("a first run"))
        let second = copy("another")
        #expect(address(of: second) == first)
        #expect(String(buffer: second) == "another")
    }

    @Test("Bytes that the connection keeps stay as they are")
    func isKept() {
        let kept = copy("a first run")
        let next = copy("another")
        #expect(String(buffer: kept) == "a first run")
        #expect(String(buffer: next) == "another")
    }

    @Test("The runs of one flush have memory of their own")
    func areApart() {
        let runs = (0..<RunBuffers.count).map { copy("run \($0)", at: $0) }
        #expect(runs.map { String(buffer: $0) } == (0..<RunBuffers.count).map { "run \($0)" })
    }
}
