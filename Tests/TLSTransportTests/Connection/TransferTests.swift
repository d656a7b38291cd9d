import NIOCore
import Testing

@testable import TLSTransport

/// Much data over real sockets, where writes are partial and reads come as they like.
@Suite(.timeLimit(.minutes(2)))
struct TransferTests {
    /// 24 MiB that repeat at no power of two: far more than the sockets' buffers hold.
    static let payload = [UInt8](unsafeUninitializedCapacity: 24 << 20) { target, count in
        var value: UInt32 = 1
        for index in target.indices {
            value = value &* 1_664_525 &+ 1_013_904_223
            target[index] = UInt8(value >> 24)
        }
        count = target.count
    }

    /// Out of the sight of `#expect`, which would look for the difference of two long arrays for hours.
    static func isWhole(_ bytes: [UInt8]) -> Bool {
        bytes == payload
    }

    /// Sends all at once, ends when all of the other's has arrived.
    static let exchange = Recorder.Script(
        onHandshake: { context, me in me.send(payload, context) },
        onBytes: { context, me in
            guard me.receivedBytes == payload.count else { return }
            context.close(mode: .output, promise: nil)
        }
    )

    @Test("Large transfers both ways at once arrive whole", arguments: Version.allCases)
    func bothWays(version: Version) async throws {
        let (client, server) = try await Loopback(
            client: .testClient(version: version),
            server: .testServer(),
            clientScript: Self.exchange,
            serverScript: Self.exchange
        ).run()
        #expect(Self.isWhole(client.bytes))
        #expect(Self.isWhole(server.bytes))
        #expect(client.errors.isEmpty && server.errors.isEmpty)
    }

    @Test("A close right after a large flush loses nothing of it")
    func flushThenClose() async throws {
        let (client, server) = try await Loopback(
            client: .testClient(),
            server: .testServer(),
            clientScript: .init(onHandshake: { context, me in
                me.send(Self.payload, context)
                context.close(promise: nil)
            })
        ).run()
        #expect(Self.isWhole(server.bytes))
        #expect(client.errors.isEmpty && server.errors.isEmpty)
    }

    @Test("Without autoRead the handshake still completes, and one read brings plaintext")
    func withoutAutoRead() async throws {
        let (client, server) = try await Loopback(
            client: .testClient(),
            server: .testServer(),
            clientScript: .init(
                onHandshake: { context, me in
                    me.send([1, 2, 3], context)
                    context.read()
                },
                onBytes: { context, _ in context.close(promise: nil) }
            ),
            serverScript: .init(
                onHandshake: { context, _ in context.read() },
                onBytes: { context, me in
                    me.send([4, 5, 6], context)
                    context.read()
                }
            ),
            autoRead: false
        ).run()
        #expect(client.bytes == [4, 5, 6])
        #expect(server.bytes == [1, 2, 3])
    }
}
