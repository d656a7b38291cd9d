import BelfrySupport
import Foundation
import NIOCore
import ProviderCredentials
import RedisClient
import TLSTransport

extension RedisSettings {
    /// The configuration of a role's connections. To a single server, which sentinels may name, or a cluster, as
    /// configured or detected.
    ///
    /// - Parameter name: the name shown by the servers' CLIENT LIST.
    /// - Throws: an error that names the file: a certificate or the trust roots cannot be loaded.
    package func servers(name: String) throws -> RedisCluster.Configuration {
        let context = endpoint.tls ? try tls.context() : nil
        let settings = self
        let sentinels = sentinels(name: name, context)
        var configuration = RedisCluster.Configuration(seeds: endpoints) { endpoint in
            var connection = settings.connection(to: endpoint, name: name, context)
            if let sentinels {
                connection.sentinels = sentinels
                // A master is looked for as often as the masters of a cluster.
                connection.delay = RedisCluster.refreshDelay
            }
            return connection
        }
        configuration.kind =
            switch cluster {
            case .auto where sentinels != nil: .single
            case .auto: endpoints.count > 1 ? .cluster : .detect
            case .yes: .cluster
            case .no: .single
            }
        return configuration
    }

    /// The longest wait for a sentinel: for the connection, and again for its answer. One that stood on the host of the
    /// lost master holds up each search that begins with it.
    private static let sentinelPatience = Duration.seconds(1)

    /// Nil: the URL names no sentinels.
    private func sentinels(name: String, _ context: TLSContext?) -> RedisSentinels? {
        guard let master = endpoint.master else { return nil }
        let patience = TimeAmount(min(connectTimeout, Self.sentinelPatience))
        let connections = endpoints.map { address in
            let endpoint = RedisEndpoint(
                host: address.host,
                port: address.port,
                tls: address.tls,
                user: sentinel.user,
                password: sentinel.password
            )
            var configuration = connection(to: endpoint, name: name, context)
            configuration.connectTimeout = patience
            configuration.commandTimeout = patience
            return configuration
        }
        return RedisSentinels(master: master, connections: connections)
    }

    private func connection(
        to endpoint: RedisEndpoint,
        name: String,
        _ context: TLSContext?
    ) -> RedisConnection.Configuration {
        var configuration = RedisConnection.Configuration(endpoint: endpoint)
        configuration.clientName = name
        configuration.commandTimeout = TimeAmount(commandTimeout)
        configuration.connectTimeout = TimeAmount(connectTimeout)
        if let context {
            let serverName = tls.serverName
            configuration.configureChannel = { channel, endpoint in
                channel.eventLoop.makeCompletedFuture {
                    let handler = TLSHandler(context: context, serverName: serverName ?? endpoint.host)
                    try channel.pipeline.syncOperations.addHandler(handler)
                }
            }
        }
        return configuration
    }
}

extension RedisTLSSettings {
    /// - Throws: ``CertificateDirectoryError`` that names the file.
    fileprivate func context() throws(CertificateDirectoryError) -> TLSContext {
        let identity = try identity()
        do throws(TLSConfigurationError) {
            return try TLSContext(client: identity, trust: trustFile.map { .file($0) } ?? .system)
        } catch {
            throw CertificateDirectoryError(error, of: certificateFile ?? trustFile ?? "the system's roots")
        }
    }

    private func identity() throws(CertificateDirectoryError) -> TLSIdentity? {
        guard let certificateFile else { return nil }
        var pem = try read(certificateFile)
        if let keyFile { pem += [UInt8(ascii: "\n")] + (try read(keyFile)) }
        do throws(TLSConfigurationError) {
            return try TLSIdentity(pem: pem)
        } catch {
            throw CertificateDirectoryError(error, of: certificateFile)
        }
    }

    private func read(_ file: String) throws(CertificateDirectoryError) -> [UInt8] {
        guard let bytes = FileManager.default.contents(atPath: file) else {
            throw CertificateDirectoryError(file: file, reason: "the file cannot be read")
        }
        return Array(bytes)
    }
}
