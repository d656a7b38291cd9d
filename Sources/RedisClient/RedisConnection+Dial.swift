import NIOCore
import NIOPosix
import SocketErrors

extension RedisConnection {
    /// Connects to the server, or to the one that the sentinels name at this moment.
    func connect() {
        guard let inquiry else { return dial() }
        inquiry.ask { [self] result in
            switch result {
            case .success(let server):
                configuration.endpoint = configuration.endpoint.at(server)
                dial()
            case .failure(let silence):
                lost(reason: silence.reason, refusal: silence.refusal)
            }
        }
    }

    private func dial() {
        let connection = NIOLoopBound(self, eventLoop: eventLoop)
        let endpoint = configuration.endpoint
        let configureChannel = configuration.configureChannel
        ClientBootstrap(group: eventLoop)
            .connectTimeout(configuration.connectTimeout)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelOption(.socketOption(.so_keepalive), value: 1)
            .channelOption(.writeBufferWaterMark, value: .init(low: 256 << 10, high: 1 << 20))
            // Answers of a few bytes each: a turn of the event loop takes some thousands, whatever has arrived.
            .channelOption(
                .recvAllocator,
                value: AdaptiveRecvByteBufferAllocator(minimum: 1 << 10, initial: 4 << 10, maximum: 16 << 10)
            )
            .channelOption(.maxMessagesPerRead, value: 1)
            .channelInitializer { channel in
                configureChannel(channel, endpoint).flatMapThrowing {
                    try channel.pipeline.syncOperations.addHandler(
                        RedisChannelHandler(connection: connection.value)
                    )
                }
            }
            .connect(host: endpoint.host, port: endpoint.port)
            .assumeIsolated()
            // Success is reported by the channel becoming active.
            .whenFailure { self.lost(reason: connectionProblem($0)) }
    }
}
