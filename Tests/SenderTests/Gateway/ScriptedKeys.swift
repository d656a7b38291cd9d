import APNsProtocol
import Foundation
import TLSTransport

@testable import BelfrySupport
@testable import ProviderCredentials

/// Provider keys in a directory that goes with the test, and the tokens that they sign.
final class ScriptedKeys {
    /// A key of each team.
    let ids: [ProviderKeyID]
    let tokens: ProviderTokens
    /// The keys in the files.
    private(set) var keys: [ProviderKey] = []
    private let store: ProviderKeyStore
    private let directory: URL

    init(teams: [String] = ["DEF123GHIJ"]) throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "belfry-keys-\(UUID().uuidString)")
        self.directory = directory
        ids = try teams.enumerated().map { index, team in
            guard let id = ProviderKeyID(team: team, key: "ABC123DEF\(index)") else { throw NoKeyID() }
            let folder = directory.appending(path: team)
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            return id
        }
        keys = try ids.map { try Self.writeKey($0, in: directory) }
        var configuration = BelfryConfiguration()
        configuration.keys.directory = directory.path
        store = try ProviderKeyStore(configuration)
        tokens = ProviderTokens(keys: store)
    }

    private static func writeKey(_ id: ProviderKeyID, in directory: URL) throws -> ProviderKey {
        let key = try ProviderKey.generate()
        try key.writePEM(to: directory.appending(path: "\(id.team)/AuthKey_\(id.key).p8").path)
        return key
    }

    /// Puts another key into the file of one.
    func exchange(_ index: Int) throws {
        try FileManager.default.removeItem(at: file(of: ids[index]))
        keys[index] = try Self.writeKey(ids[index], in: directory)
        _ = store.reload()
    }

    private func file(of id: ProviderKeyID) -> URL { directory.appending(path: "\(id.team)/AuthKey_\(id.key).p8") }

    deinit {
        try? FileManager.default.removeItem(at: directory)
    }

    private struct NoKeyID: Error {}

    /// The key that signed the token of a request; nil: it carries none.
    static func key(of request: MemoryService.Request) throws -> ProviderKeyID? {
        try token(of: request)?.token.key
    }

    /// The token of a request was signed by the key.
    static func isSigned(_ request: MemoryService.Request, by key: ProviderKey) throws -> Bool {
        guard let token = try token(of: request) else { return false }
        return try key.publicKey.verifies(signature: token.signature, of: token.signingInput)
    }

    private static func token(of request: MemoryService.Request) throws -> SignedProviderToken? {
        let scheme = "bearer "
        guard request.authorization.hasPrefix(scheme) else { return nil }
        let compact = Array(request.authorization.dropFirst(scheme.count).utf8)
        return try compact.withUnsafeBytes { try SignedProviderToken(compact: $0) }
    }
}
