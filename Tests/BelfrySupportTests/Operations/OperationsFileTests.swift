import Foundation
import PipelineCore
import PipelineTestSupport
import Testing

@testable import BelfrySupport
@testable import PipelineTestSupport

/// The files of the operations port, and what a configuration says about it.
@Suite struct OperationsFileTests {
    private static let start = MonotonicTime(nanoseconds: 1_000_000_000)

    private func problem(of content: String) -> String? {
        do throws(UnusableContent) {
            _ = try BearerToken(content: Array(content.utf8))
            return nil
        } catch {
            return error.reason
        }
    }

    // MARK: Tokens

    @Test("A token is 16 to 1024 letters of RFC 6750 on one line, and anything else is refused with the rule")
    func tokenRule() {
        let good = "abcdefghijklmnop"
        let longest = String(repeating: "a", count: 1024)
        for content in [good, good + "\n", good + "\r\n", good + "==", "AZaz09-._~+/AZaz", longest] {
            #expect(problem(of: content) == nil, "\(content)")
        }
        for content in ["", "\n", "\r\n"] { #expect(problem(of: content) == "is empty; allowed: \(BearerToken.rule)") }
        let wrong = [
            " " + good, good + " ", good + "\n\n", good + "\n" + good, "=" + good, good + "=a", good + "é", "\0" + good,
            "Bearer " + good,
        ]
        for content in wrong {
            let found = problem(of: content)
            #expect(found?.hasPrefix("holds something else than a token; allowed: ") == true, "\(content)")
        }
        #expect(problem(of: "abcdefghijklmno")?.hasPrefix("its token has 15 letters; allowed: 16 to 1024 ") == true)
        #expect(problem(of: longest + "a")?.hasPrefix("its token has 1025 letters") == true)
    }

    @Test("A token is shown as Bearer and the very same letters; the scheme's own letters may be large or small")
    func shown() throws {
        let token = try BearerToken(content: Array("\(SecretFiles.token)\n".utf8))
        for field in ["Bearer \(SecretFiles.token)", "bearer \(SecretFiles.token)", "BEARER  \(SecretFiles.token)"] {
            #expect(token.isShown(by: field), "\(field)")
        }
        let wrong: [String?] = [
            nil, "", "Bearer", "Bearer ", SecretFiles.token, "Basic \(SecretFiles.token)",
            "Bearer \(SecretFiles.token) ",
            "Bearer \(SecretFiles.token.dropLast())", "Bearer \(SecretFiles.token)a",
            "Bearer \(SecretFiles.token.uppercased())", "Bearer \(SecretFiles.token), Bearer \(SecretFiles.token)",
        ]
        for field in wrong { #expect(!token.isShown(by: field), "\(field ?? "none")") }
    }

    // MARK: Changes

    @Test("A file that was changed or swapped counts as it is now, and the value before counts no more")
    func rotation() throws {
        let files = try SecretFiles()
        let path = try files.write("token", SecretFiles.token)
        let access = try OperationsAccess(files.settings(token: path), logger: LogLines().logger, now: Self.start)
        let second = "Bearer second-token-0123456789"
        #expect(access.isAllowed(authorization: "Bearer \(SecretFiles.token)", now: Self.start))
        #expect(!access.isAllowed(authorization: second, now: Self.start))
        try files.write("token", "second-token-0123456789")
        #expect(access.isAllowed(authorization: second, now: Self.start))
        #expect(!access.isAllowed(authorization: "Bearer \(SecretFiles.token)", now: Self.start))
        // As Kubernetes does: the name leads to another file.
        let link = files.directory + "/link"
        for (name, token) in [("a", "third-token-0123456789"), ("b", "fourth-token-0123456789")] {
            try files.write(name, token)
            try? FileManager.default.removeItem(atPath: link)
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: name)
            let access = try OperationsAccess(files.settings(token: link), logger: LogLines().logger, now: Self.start)
            #expect(access.isAllowed(authorization: "Bearer \(token)", now: Self.start))
        }
    }

    @Test("A swapped link is followed by the port that runs")
    func swappedLink() throws {
        let files = try SecretFiles()
        let link = files.directory + "/link"
        try files.write("a", SecretFiles.token)
        try files.write("b", "fourth-token-0123456789")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "a")
        let access = try OperationsAccess(files.settings(token: link), logger: LogLines().logger, now: Self.start)
        #expect(access.isAllowed(authorization: "Bearer \(SecretFiles.token)", now: Self.start))
        try FileManager.default.removeItem(atPath: link)
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "b")
        #expect(access.isAllowed(authorization: "Bearer fourth-token-0123456789", now: Self.start))
        #expect(!access.isAllowed(authorization: "Bearer \(SecretFiles.token)", now: Self.start))
    }

    @Test("A file that seems unchanged is read again after 30 s, and not before")
    func rereading() throws {
        let files = try SecretFiles()
        let path = try files.write("value", "old")
        let date = Date(timeIntervalSince1970: 1_700_000_000)
        try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: path)
        let file = try FollowedFile(path, now: Self.start) { (bytes) throws(UnusableContent) in
            String(decoding: bytes, as: UTF8.self)
        }
        // The same size and time: only the content tells.
        let handle = try #require(FileHandle(forWritingAtPath: path))
        try handle.write(contentsOf: Data("new".utf8))
        try handle.close()
        try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: path)
        #expect(file.ask(now: Self.start + .milliseconds(29_999)).value == "old")
        let answer = file.ask(now: Self.start + .seconds(30))
        #expect(answer.value == "new" && answer.isNews && answer.fault == nil)
        #expect(!file.ask(now: Self.start + .seconds(60)).isNews, "it is the same again")
    }

    @Test("A token's file that vanished or broke lets no client in until it holds a token; each change is told once")
    func brokenToken() throws {
        let files = try SecretFiles()
        let path = try files.write("token", SecretFiles.token)
        let lines = LogLines()
        let access = try OperationsAccess(files.settings(token: path), logger: lines.logger, now: Self.start)
        let field = "Bearer \(SecretFiles.token)"
        try FileManager.default.removeItem(atPath: path)
        for _ in 0..<3 { #expect(!access.isAllowed(authorization: field, now: Self.start)) }
        try files.write("token", "")
        for _ in 0..<3 { #expect(!access.isAllowed(authorization: field, now: Self.start)) }
        let told = lines.metadata(of: "operations token cannot be used; nobody is let in")
        #expect(told.map { $0["reason"]?.prefix(8) } == ["is not t", "is empty"])
        try files.write("token", SecretFiles.token)
        #expect(access.isAllowed(authorization: field, now: Self.start))
        #expect(lines.metadata(of: "operations token was read again").count == 1)
        #expect(!lines.text.contains(SecretFiles.token), "no log tells the token")
    }

    @Test("A certificate's file that vanished or broke leaves the former one in use, and a good one replaces it")
    func brokenCertificate() throws {
        let files = try SecretFiles()
        let path = try files.writeCertificate("port.pem")
        let lines = LogLines()
        let access = try OperationsAccess(files.settings(certificate: path), logger: lines.logger, now: Self.start)
        let first = try #require(access.context(now: Self.start))
        try files.write("port.pem", "nonsense")
        #expect(access.context(now: Self.start) === first)
        try FileManager.default.removeItem(atPath: path)
        #expect(access.context(now: Self.start) === first && access.context(now: Self.start) === first)
        let told = lines.metadata(of: "operations certificate cannot be used; the former one stays")
        #expect(told.map { $0["reason"] } == ["holds no certificate in PEM form", "is not there"])
        _ = try files.writeCertificate("port.pem")
        let second = try #require(access.context(now: Self.start))
        #expect(second !== first && access.context(now: Self.start + .seconds(30)) === second)
    }

    // MARK: The start

    @Test("At the start a file that is missing, empty, no file, too large or something else is an error with its key")
    func start() throws {
        let files = try SecretFiles()
        let large = try files.write("large", String(repeating: "a", count: 1 << 20 + 1))
        let empty = try files.write("empty", "\n")
        let certificate = try files.writeCertificate("port.pem")
        let pem = try String(contentsOfFile: certificate, encoding: .utf8)
        let key = try files.write("key.pem", pem.split(separator: "-----END CERTIFICATE-----")[1])
        let missing = files.directory + "/none"
        let roots = files.directory + "/ca.pem"
        let tokens = [
            (missing, "is not there"), (files.directory, "is no file"), (large, "is larger than 1 MiB"),
            (empty, "is empty; allowed: \(BearerToken.rule)"),
        ]
        let certificates = [
            (empty, "holds no certificate in PEM form"), (key, "holds no certificate in PEM form"),
            (roots, "holds no private key in PEM form"),
        ]
        let cases =
            tokens.map { (files.settings(token: $0.0), "operations.bearer-token-file: \($0.0): \($0.1)") }
            + certificates.map { (files.settings(certificate: $0.0), "operations.certificate: \($0.0): \($0.1)") }
        for (settings, text) in cases {
            let error = #expect(throws: OperationsFileError.self) {
                _ = try OperationsAccess(settings, logger: LogLines().logger)
            }
            #expect(error?.description == text)
        }
    }

    @Test("A port that others than this machine reach without token or TLS is told of once, with the missing keys")
    func openness() throws {
        let files = try SecretFiles()
        let token = try files.write("token", SecretFiles.token)
        let certificate = try files.writeCertificate("port.pem")
        let keys = (token: "operations.bearer-token-file", certificate: "operations.certificate")
        let cases: [(host: String, token: String?, certificate: String?, missing: [String])] = [
            ("127.0.0.1", nil, nil, []), ("127.3.2.1", nil, nil, []), ("localhost", nil, nil, []),
            ("::1", nil, nil, []),
            ("0.0.0.0", nil, nil, [keys.token, keys.certificate]), ("::", nil, nil, [keys.token, keys.certificate]),
            ("127.0.0.example.com", nil, nil, [keys.token, keys.certificate]),
            ("10.0.0.1", token, nil, [keys.certificate]), ("10.0.0.1", nil, certificate, [keys.token]),
            ("10.0.0.1", token, certificate, []),
        ]
        for (host, token, certificate, missing) in cases {
            var settings = files.settings(token: token, certificate: certificate)
            settings.listen = HostPort(host: host, port: 9464)
            let lines = LogLines()
            let access = try OperationsAccess(settings, logger: lines.logger)
            access.warnOfOpenness(at: HostPort(host: host, port: 9464))
            let told = lines.metadata(of: "operations port is open to the network")
            #expect(told.map { $0["not-set"] } == (missing.isEmpty ? [] : [missing.joined(separator: ", ")]), "\(host)")
            #expect(lines.messages.count == told.count)
        }
    }

    @Test("A secret that all users can read is told of at the start and by the check, and is no fault")
    func exposed() throws {
        let files = try SecretFiles()
        let settings = files.settings(token: try files.write("token", SecretFiles.token, mode: 0o644))
        let lines = LogLines()
        try OperationsAccess(settings, logger: lines.logger).warnOfOpenness(at: HostPort(host: "::1", port: 1))
        #expect(lines.messages == ["secret of the operations port can be read by everybody"])
        let check = OperationsCheck(settings, now: 0)
        #expect(check.faults == [] && check.notes.map(\.key) == ["operations.bearer-token-file"])
    }

    @Test("The check names every file that cannot be used, what is open, and a certificate that ends soon")
    func check() throws {
        let files = try SecretFiles()
        let now = Int64(Date().timeIntervalSince1970)
        var settings = files.settings(token: files.directory + "/none", certificate: files.directory + "/none")
        settings.listen = HostPort(host: "0.0.0.0", port: 9464)
        let faults = OperationsCheck(settings, now: now).faults.map(\.key)
        #expect(faults == ["operations.bearer-token-file", "operations.certificate"])
        settings.bearerTokenFile = nil
        settings.certificateFile = try files.writeCertificate("port.pem", validity: now - 10...now + 30 * 86_400)
        let notes = OperationsCheck(settings, now: now).notes.map(\.text)
        #expect(notes.count == 2 && notes[0].hasPrefix("operations.bearer-token-file is not set"))
        #expect(notes[1] == "\(files.directory)/port.pem: ends in 30 days")
        #expect(OperationsCheck(settings, now: now - 2 * 86_400).notes.count == 1)
    }

    @Test("Both files are read from the configuration and from variables, relative to the file's directory")
    func keys() throws {
        let settings = try BelfryConfiguration.load(
            yaml: "operations: {listen: '[::]:9464', bearer-token-file: token, certificate: /tls/port.pem}",
            file: "belfry.yaml",
            directory: "/etc/belfry",
            variables: [:],
            requiresEnvironments: false
        ).operations
        #expect(settings.listen == HostPort(host: "::", port: 9464))
        #expect(settings.bearerTokenFile == "/etc/belfry/token" && settings.certificateFile == "/tls/port.pem")
        let variables = [
            "BELFRY_OPERATIONS_BEARER_TOKEN_FILE": "/secrets/token",
            "BELFRY_OPERATIONS_CERTIFICATE": "/secrets/port.pem",
        ]
        let others = try BelfryConfiguration.load(
            yaml: nil,
            file: nil,
            directory: nil,
            variables: variables,
            requiresEnvironments: false
        ).operations
        #expect(others.bearerTokenFile == "/secrets/token" && others.certificateFile == "/secrets/port.pem")
    }
}
