import NIOCore
import NIOPosix
import Testing

@testable import TLSTransport

extension Recorder.Script {
    /// Writes 16 KiB after 16 KiB, each when the socket has taken the one before, until that fails.
    static let writingForEver = Recorder.Script(onHandshake: { context, me in writeOn(context, me) })

    /// An event loop works off its tasks before it looks at its sockets, so a task that always makes the next would
    /// keep it from reading. Going round by another thread lets it.
    private static let detour = MultiThreadedEventLoopGroup(numberOfThreads: 1).next()

    private static func writeOn(_ context: ChannelHandlerContext, _ me: Recorder) {
        let written = context.eventLoop.makePromise(of: Void.self)
        let bound = NIOLoopBound((context, me), eventLoop: context.eventLoop)
        let loop = context.eventLoop
        written.futureResult.hop(to: Self.detour).hop(to: loop).whenSuccess {
            let (context, me) = bound.value
            if context.channel.isActive { writeOn(context, me) }
        }
        me.send([UInt8](repeating: 7, count: 16 << 10), context, promise: written)
    }
}

/// The ends of connections. Nothing that was received is lost, nothing that is missing goes unnoticed.
@Suite(.timeLimit(.minutes(2)))
struct ClosingTests {
    static let answer: [UInt8] = [8, 8, 0, 0, 0, 42]

    @Test("A close is clean on both sides, whichever begins", arguments: [true, false], Version.allCases)
    func cleanClose(clientBegins: Bool, version: Version) async throws {
        let closing = Recorder.Script(onHandshake: { context, _ in context.close(promise: nil) })
        let (client, server) = try await Loopback(
            client: .testClient(version: version),
            server: .testServer(),
            clientScript: clientBegins ? closing : .init(),
            serverScript: clientBegins ? .init() : closing
        ).run()
        #expect(client.errors.isEmpty && client.last == .inactive)
        #expect(server.errors.isEmpty && server.last == .inactive)
    }

    @Test("An answer before a close reaches a peer that is busy writing", arguments: 0..<30)
    func answerThenClose(round: Int) async throws {
        let (client, _) = try await Loopback(
            client: .testClient(),
            server: .testServer(),
            clientScript: .writingForEver,
            serverScript: .init(onBytes: { context, me in
                guard me.receivedBytes > round * 10_000 else { return }
                me.send(Self.answer, context)
                context.close(promise: nil)
            })
        ).run()
        #expect(client.bytes == Self.answer)
        #expect(client.errors.isEmpty)
    }

    @Test("An answer before a reset is delivered, then the cut is reported", arguments: 0..<30)
    func answerThenReset(round: Int) async throws {
        let (client, _) = try await Loopback(
            client: .testClient(),
            server: .testServer(),
            clientScript: .writingForEver,
            serverScript: .init(onBytes: { context, me in
                guard me.receivedBytes > round * 10_000, context.channel.isActive else { return }
                me.send(Self.answer, context)
                // Unread input makes this a reset even without the socket option.
                context.resetSocket()
            })
        ).run()
        #expect(client.bytes == Self.answer)
        #expect(client.errors.count == 1, "\(client)")
        #expect(client.last == .inactive)
    }

    @Test("An end of stream without close_notify is reported, after what came before it", arguments: Version.allCases)
    func missingCloseNotify(version: Version) async throws {
        for halfClosure in [false, true] {
            let (client, _) = try await Loopback(
                client: .testClient(version: version),
                server: .testServer(),
                serverScript: .init(onHandshake: { context, me in
                    me.send(Self.answer, context)
                    context.cutSocket()
                }),
                halfClosure: halfClosure
            ).run()
            #expect(Array(client.dropFirst()) == [.bytes(Self.answer), .error(.uncleanShutdown), .inactive])
        }
    }

    @Test("With half-closure each side ends its writing by itself")
    func halfClosure() async throws {
        let (client, server) = try await Loopback(
            client: .testClient(),
            server: .testServer(),
            clientScript: .init(onHandshake: { context, me in
                me.send([1, 2, 3], context)
                context.close(mode: .output, promise: nil)
            }),
            serverScript: .init(onInputClosed: { context, me in
                me.send(Self.answer, context)
                context.close(promise: nil)
            }),
            halfClosure: true
        ).run()
        #expect(Array(server.dropFirst()) == [.bytes([1, 2, 3]), .inputClosed, .inactive])
        #expect(client.bytes == Self.answer)
        #expect(client.errors.isEmpty)
    }

    @Test("Writes after the output is closed fail, and so does a second close of it")
    func writeAfterOutputClosed() async throws {
        let failures = Loopback.group.any().makePromise(of: [ChannelError].self)
        let (_, server) = try await Loopback(
            client: .testClient(),
            server: .testServer(),
            clientScript: .init(onHandshake: { context, me in
                context.close(mode: .output, promise: nil)
                let write = context.eventLoop.makePromise(of: Void.self)
                let close = context.eventLoop.makePromise(of: Void.self)
                me.send([1], context, promise: write)
                context.close(mode: .output, promise: close)
                EventLoopFuture.whenAllComplete([write.futureResult, close.futureResult], on: context.eventLoop)
                    .map { results in
                        results.compactMap { result in
                            if case .failure(let error) = result { error as? ChannelError } else { nil }
                        }
                    }
                    .cascade(to: failures)
            })
        ).run()
        #expect(try await failures.futureResult.get() == [.outputClosed, .outputClosed])
        #expect(server.bytes.isEmpty && server.errors.isEmpty)
    }

    @Test("A peer that never ends its side does not keep the socket open")
    func closeTimeout() async throws {
        let served = Loopback.group.any().makePromise(of: (any Channel).self)
        var loopback = try Loopback(client: .testClient(), server: .testServer())
        loopback.closeTimeout = .milliseconds(20)
        loopback.clientScript.onHandshake = { context, _ in context.close(promise: nil) }
        loopback.halfClosure = true
        loopback.serverScript.onHandshake = { context, _ in served.succeed(context.channel) }
        let ended = Loopback.group.any().makePromise(of: [Seen].self)
        let listener = try await loopback.listen(ended: ended)
        let client = try await loopback.connect(port: listener.localAddress?.port ?? 0)
        #expect(client.errors.isEmpty && client.last == .inactive)
        // Half-closure: the server was told of the client's end, and stays until it closes by itself.
        try await served.futureResult.get().close()
        let server = try await ended.futureResult.get()
        #expect(server.contains(.inputClosed))
        try await listener.close()
    }

    @Test("A close's promise is fulfilled, and a second close is not an error while the first is under way")
    func closePromises() async throws {
        let closed = Loopback.group.any().makePromise(of: Void.self)
        let again = Loopback.group.any().makePromise(of: Void.self)
        _ = try await Loopback(
            client: .testClient(),
            server: .testServer(),
            clientScript: .init(onHandshake: { context, _ in
                context.close(promise: closed)
                context.close(promise: again)
            })
        ).run()
        try await closed.futureResult.get()
        try await again.futureResult.get()
    }
}
