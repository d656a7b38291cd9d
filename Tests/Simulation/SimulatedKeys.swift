import APNsProtocol
import BelfrySupport
import Foundation
import ProviderCredentials
import TLSTransport

/// The provider key of all worlds, made when the first one wants it.
enum SimulatedKeys {
    /// Kept in memory alone; nil: this machine has no room for its file, which is read once.
    private static let store: ProviderKeyStore? = {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: directory) }
        var configuration = BelfryConfiguration()
        configuration.keys.directory = directory.path
        configuration.keys.team = "SIMULATION"
        do {
            try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
            try ProviderKey.generate().writePEM(to: directory.appendingPathComponent("AuthKey_SIMULATED1.p8").path)
            return try ProviderKeyStore(configuration)
        } catch {
            return nil
        }
    }()

    private static let id = ProviderKeyID(team: "SIMULATION", key: "SIMULATED1")

    /// The credential of topics that share the key.
    static var credential: AppCredential {
        guard let id else { preconditionFailure("team and key are letters and digits") }
        return .key(id)
    }

    /// The provider tokens of one worker process.
    static func providerTokens() -> ProviderTokens {
        guard let store else { preconditionFailure("the directory for temporary files can be written") }
        return ProviderTokens(keys: store)
    }
}
