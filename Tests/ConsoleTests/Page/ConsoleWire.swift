import NIOCore
import NIOPosix

@testable import Console

/// A server that says the same to every client, whatever the request.
struct PlayedServer {
    /// The things to say, and how it goes on.
    enum Manner: Sendable {
        /// Says it and ends the connection.
        case says(String)
        /// Says it and keeps the connection open.
        case saysAndWaits(String)
        /// Says the first text to a request that has this line, and the second one to others.
        case answers(line: String, String, otherwise: String)
        /// Says the first text once and the other one again and again, for as long as the client listens.
        case goesOn(String, String)
    }

    let channel: any Channel

    static func start(_ manner: Manner) async throws -> PlayedServer {
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Player(manner))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        return PlayedServer(channel: channel)
    }

    var port: Int { channel.localAddress?.port ?? 0 }

    private final class Player: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let manner: Manner
        private var hasBegun = false

        init(_ manner: Manner) { self.manner = manner }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard !hasBegun else { return }
            hasBegun = true
            let request = String(buffer: unwrapInboundIn(data))
            switch manner {
            case .answers(let line, let good, let otherwise):
                say(request.contains("\r\n\(line)\r\n") ? good : otherwise, context)
                context.close(promise: nil)
            case .says(let text):
                say(text, context)
                context.close(promise: nil)
            case .saysAndWaits(let text): say(text, context)
            case .goesOn(let first, let then):
                say(first, context)
                repeatedly(then, context.channel)
            }
        }

        private func say(_ text: String, _ context: ChannelHandlerContext) {
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: text)), promise: nil)
        }

        private func repeatedly(_ text: String, _ channel: any Channel) {
            channel.writeAndFlush(ByteBuffer(string: text)).assumeIsolated().whenSuccess { [self] in
                repeatedly(text, channel)
            }
        }
    }
}

/// A request to a console, and its whole answer.
enum ConsoleWire {
    /// Reads until the other side ends the connection, or the event with the text has come.
    private final class Reader: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private var text = ""
        private let awaited: String?
        private let whole: EventLoopPromise<String>

        init(until awaited: String?, _ whole: EventLoopPromise<String>) {
            self.awaited = awaited
            self.whole = whole
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            text += String(buffer: unwrapInboundIn(data))
            // With the rest of its event, which may come in several pieces.
            if let awaited, let place = text.firstRange(of: awaited), text[place.upperBound...].contains("\n\n") {
                whole.succeed(text)
                context.close(promise: nil)
            }
        }

        func channelInactive(context: ChannelHandlerContext) { whole.succeed(text) }
    }

    /// - Parameters:
    ///   - headers: lines, each with its end.
    ///   - awaited: the end of what is wanted; nil: the end of the connection.
    static func ask(
        _ port: Int,
        _ path: String,
        method: String = "GET",
        headers: String = "host: localhost\r\n",
        until awaited: String? = nil
    ) async throws -> String {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let whole = loop.makePromise(of: String.self)
        let channel = try await ClientBootstrap(group: loop)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Reader(until: awaited, whole))
                }
            }
            .connect(host: "127.0.0.1", port: port).get()
        let text = "\(method) \(path) HTTP/1.1\r\n\(headers)connection: close\r\n\r\n"
        try await channel.writeAndFlush(ByteBuffer(string: text))
        return try await whole.futureResult.get()
    }
}
