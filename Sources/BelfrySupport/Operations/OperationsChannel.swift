import HummingbirdCore
import Logging
import NIOCore

/// A connection of the operations endpoint: HTTP/1 behind a ``ConnectionGuard``.
struct OperationsChannel: ServerChildChannel {
    let http: HTTP1Channel
    let connections: OperationsConnections

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<HTTP1Channel.Value> {
        channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(ConnectionGuard(connections))
        }.flatMap {
            http.setup(channel: channel, logger: logger)
        }
    }

    func handle(value: HTTP1Channel.Value, logger: Logger) async {
        await http.handle(value: value, logger: logger)
    }
}
