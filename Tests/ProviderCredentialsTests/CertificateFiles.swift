import Foundation
import TLSTransport

/// A directory of one test, removed with it, and an authority to fill it.
final class CertificateFiles {
    let directory: String
    let authority: CertificateAuthority

    private static let sharedAuthority = Result { try CertificateAuthority() }

    init() throws {
        authority = try Self.sharedAuthority.get()
        let url = FileManager.default.temporaryDirectory.appending(path: "belfry-certificates-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        directory = url.path
    }

    deinit {
        try? FileManager.default.removeItem(atPath: directory)
    }

    func path(_ name: String) -> String { "\(directory)/\(name)" }

    func write(_ text: String, to name: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: path(name)))
    }

    func client(
        _ bundleID: String,
        _ environments: CertificateInfo.Environments = .development,
        validity: ClosedRange<Int64>? = nil
    ) throws -> TLSIdentity {
        try authority.issueClient(bundleID: bundleID, environments: environments, validity: validity)
    }
}
