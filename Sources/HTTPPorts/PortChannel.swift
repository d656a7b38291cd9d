import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1

/// A connection of a port that Hummingbird serves: HTTP/1 behind a ``PortGuard``.
package struct PortChannel: ServerChildChannel {
    private let http: HTTP1Channel
    private let connections: PortConnections
    private let prepare: @Sendable (any Channel) throws -> Void

    /// - Parameter prepare: adds what stands between socket and HTTP. On the channel's event loop.
    package init(
        _ connections: PortConnections,
        prepare: @escaping @Sendable (any Channel) throws -> Void = { _ in },
        responder: @escaping HTTPChannelHandler.Responder
    ) {
        let decoding = HTTP1Channel.Configuration.DecoderConfiguration(maxHeaderListSize: connections.limits.headBytes)
        http = HTTP1Channel(responder: responder, configuration: .init(httpDecoderConfiguration: decoding))
        self.connections = connections
        self.prepare = prepare
    }

    package func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<HTTP1Channel.Value> {
        channel.eventLoop.makeCompletedFuture {
            try prepare(channel)
        }.flatMap {
            http.setup(channel: channel, logger: logger)
        }.flatMapThrowing { value in
            let pipeline = channel.pipeline.syncOperations
            let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
            try pipeline.addHandler(PortGuard(connections), position: .after(decoder))
            return value
        }
    }

    /// The answer to the last request is a stream of events; see ``PortGuard/followEvents()``. On the channel's event
    /// loop.
    package static func followEvents(on channel: any Channel) throws {
        try channel.pipeline.syncOperations.handler(type: PortGuard.self).followEvents()
    }

    package func handle(value: HTTP1Channel.Value, logger: Logger) async {
        await http.handle(value: value, logger: logger)
    }
}
