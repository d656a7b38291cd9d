import BelfrySupport
import Foundation
import NIOCore
import ProviderCredentials
import RedisClient
import TLSTransport

extension RedisSettings {
    /// The configuration of a role's connections. To a single server or a cluster, as configured or detected.
    ///
    /// - Parameter name: the name shown by the servers' CLIENT LIST.
    /// - Throws: an error that names the file: a certificate or the trust roots cannot be loaded.
    package func servers(name: String) throws -> RedisCluster.Configuration {
        let context = endpoint.tls ? try tls.context() : nil
        let settings = self
        var configuration = RedisCluster.Configuration(seeds: endpoints) { endpoint in
            settings.connection(to: endpoint, name: name, context)
        }
        configuration.kind =
            switch cluster {
            case .auto: endpoints.count > 1 ? .cluster : .detect
            case .yes: .cluster
            case .no: .single
            }
        return configuration
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
            let serverName = tls.serverName ?? endpoint.host
            configuration.configureChannel = { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(TLSHandler(context: context, serverName: serverName))
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
