import Foundation
import TLSTransport
import TestSupport
import Testing

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

    /// Writes a certificate of VoIP Services with its key, made by openssl, that ends in 30 days.
    func writeVoIP(_ bundleID: String, to name: String) throws {
        let made = try ForeignProcess.run(
            "/usr/bin/env",
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
                + ["-subj", "/UID=\(bundleID).voip/CN=VoIP Services: \(bundleID)", "-days", "30"]
                + ["-keyout", path(name), "-out", path(name)],
            input: ""
        )
        try #require(made.status == 0, "\(made.errors)")
    }
}
