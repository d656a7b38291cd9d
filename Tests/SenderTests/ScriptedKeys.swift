import APNsProtocol
import BelfrySupport
import Foundation
import TLSTransport

/// Provider keys in a directory that goes with the test, and the tokens that they sign.
final class ScriptedKeys {
    /// The key of each team.
    let ids: [ProviderKeyID]
    let tokens: ProviderTokens
    private let directory: URL

    init(teams: [String] = ["DEF123GHIJ"]) throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "belfry-keys-\(UUID().uuidString)")
        self.directory = directory
        ids = try teams.enumerated().map { index, team in
            guard let id = ProviderKeyID(team: team, key: "ABC123DEF\(index)") else { throw NoKeyID() }
            let folder = directory.appending(path: team)
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            try ProviderKey.generate().writePEM(to: "\(folder.path)/AuthKey_\(id.key).p8")
            return id
        }
        var configuration = BelfryConfiguration()
        configuration.keys.directory = directory.path
        tokens = ProviderTokens(keys: try ProviderKeyStore(configuration))
    }

    deinit {
        try? FileManager.default.removeItem(at: directory)
    }

    private struct NoKeyID: Error {}

    /// The key that signed the token of a request; nil: it carries none.
    static func key(of request: MemoryService.Request) throws -> ProviderKeyID? {
        let scheme = "bearer "
        guard request.authorization.hasPrefix(scheme) else { return nil }
        let compact = Array(request.authorization.dropFirst(scheme.count).utf8)
        return try compact.withUnsafeBytes { try SignedProviderToken(compact: $0) }.token.key
    }
}
