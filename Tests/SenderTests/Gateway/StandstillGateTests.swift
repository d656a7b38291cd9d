import NIOCore
import NIOEmbedded
import Testing

@testable import Sender

@Suite("The gate before a gateway's socket")
struct StandstillGateTests {
    private final class Owner: ConnectionOwner {
        var isDone = true
        var hasStoodStill = false

        func isConnecting(_ attempt: Int) -> Bool { !isDone }
        func isOpen(_ attempt: Int) -> Bool { isDone && attempt == 1 }
        func connectionEnded(attempt: Int, error: (any Error)?) {}
    }

    private func write(_ owner: Owner, attempt: Int = 1) throws -> (bytes: ByteBuffer?, isOpen: Bool) {
        let channel = EmbeddedChannel(handler: StandstillGate(of: owner, attempt: attempt))
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        channel.writeAndFlush(ByteBuffer(string: "a request"), promise: nil)
        return (try channel.readOutbound(as: ByteBuffer.self), channel.isActive)
    }

    @Test("What is written in time passes")
    func passes() throws {
        let written = try write(Owner())
        #expect(written.bytes == ByteBuffer(string: "a request") && written.isOpen)
    }

    @Test("Nothing passes after a standstill, and the connection ends with the reason")
    func shut() throws {
        let owner = Owner()
        let channel = EmbeddedChannel(handler: StandstillGate(of: owner, attempt: 1))
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        channel.write(ByteBuffer(string: "a request"), promise: nil)
        owner.hasStoodStill = true
        channel.flush()
        #expect(try channel.readOutbound(as: ByteBuffer.self) == nil)
        #expect(!channel.isActive)
        #expect(throws: ShardStoodStill.self) { try channel.throwIfErrorCaught() }
    }

    @Test("A handshake, and the end of a connection that is let go, pass")
    func foreign() throws {
        let owner = Owner()
        owner.hasStoodStill = true
        #expect(try write(owner, attempt: 2).bytes != nil)
        owner.isDone = false
        #expect(try write(owner).bytes != nil)
    }
}
