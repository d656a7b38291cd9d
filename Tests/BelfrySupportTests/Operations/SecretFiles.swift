import Foundation
import TLSTransport

@testable import BelfrySupport

/// A directory for the files of an operations port, removed with the last user.
final class SecretFiles {
    static let token = "first-token-0123456789"

    let directory: String

    init() throws {
        directory = FileManager.default.temporaryDirectory.appending(path: "belfry-secrets-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: directory) }

    /// Writes a file that its owner alone can read, in place, and returns its path.
    @discardableResult
    func write(_ name: String, _ content: some StringProtocol, mode: Int = 0o600) throws -> String {
        let path = "\(directory)/\(name)"
        try Data(content.utf8).write(to: URL(filePath: path))
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        return path
    }

    /// Writes a certificate with its key, of an authority that is left beside it as `ca.pem`.
    func writeCertificate(_ name: String, validity: ClosedRange<Int64>? = nil) throws -> String {
        let authority = try CertificateAuthority()
        try write("ca.pem", String(decoding: authority.rootPEM(), as: UTF8.self))
        let identity = try authority.issueServer(validity: validity)
        return try write(name, String(decoding: identity.pem(), as: UTF8.self))
    }

    func settings(token: String? = nil, certificate: String? = nil) -> OperationsSettings {
        var settings = OperationsSettings()
        settings.bearerTokenFile = token
        settings.certificateFile = certificate
        return settings
    }
}
