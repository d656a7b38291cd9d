import NIOCore
import RedisClient
import TLSTransport

extension RedisSettings {
    /// How a role connects.
    ///
    /// - Throws: the system's trust roots cannot be loaded.
    func connection(name: String) throws(TLSConfigurationError) -> RedisConnection.Configuration {
        var configuration = RedisConnection.Configuration(endpoint: endpoint)
        configuration.clientName = name
        if endpoint.tls {
            let context = try TLSContext(client: nil, trust: .system)
            let host = endpoint.host
            configuration.configureChannel = { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(TLSHandler(context: context, serverName: host))
                }
            }
        }
        return configuration
    }
}
