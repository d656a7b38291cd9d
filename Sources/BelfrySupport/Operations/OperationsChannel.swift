import HummingbirdCore
import Logging
import NIOCore
import TLSTransport

/// A connection of the operations endpoint: HTTP/1 behind a ``ConnectionGuard``, and that behind TLS if it is to be.
struct OperationsChannel: ServerChildChannel {
    let http: HTTP1Channel
    let connections: OperationsConnections
    let access: OperationsAccess

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<HTTP1Channel.Value> {
        channel.eventLoop.makeCompletedFuture {
            let pipeline = channel.pipeline.syncOperations
            if let context = access.context() {
                let tls = TLSHandler(
                    context: context,
                    serverName: nil,
                    closeTimeout: OperationsLimits.closeTimeout
                )
                try pipeline.addHandlers(PlainRequestRefusal(), tls)
            }
            try pipeline.addHandler(ConnectionGuard(connections))
        }.flatMap {
            http.setup(channel: channel, logger: logger)
        }
    }

    func handle(value: HTTP1Channel.Value, logger: Logger) async {
        await http.handle(value: value, logger: logger)
    }
}
