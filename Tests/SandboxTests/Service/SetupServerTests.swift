import APNsProtocol
import Foundation
import Logging
import Testing

@testable import Sandbox

/// Starting: what is missing or wrong is named.
struct SetupServerTests {
    private func withDirectory(_ body: (String) async throws -> Void) async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "sandbox-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try await body(directory)
    }

    private func start(_ change: (inout SandboxConfiguration) -> Void, _ directory: String) async throws {
        var configuration = SandboxConfiguration(pkiDirectory: directory, topics: ["com.example.a"], devices: 10)
        configuration.gatewayPort = 0
        configuration.feedbackPort = 0
        configuration.controlPort = 0
        configuration.devicePort = 0
        configuration.apiPort = 0
        change(&configuration)
        let server = try await SandboxServer.start(configuration, logger: RunningSandbox.quietLogger)
        try await server.stop()
    }

    @Test("A file that is missing or wrong is named", arguments: ["server.pem", "ca.pem", "token.key"])
    func files(name: String) async throws {
        try await withDirectory { directory in
            try Sandbox.writeCertificates(directory: directory, topics: ["com.example.a"])
            let file = directory + "/" + name
            for content in [nil, Data("nonsense".utf8)] {
                try FileManager.default.removeItem(atPath: file)
                if let content { try content.write(to: URL(filePath: file)) }
                let error = await #expect(throws: SandboxSetupError.self) { try await start({ _ in }, directory) }
                #expect(error?.subject == file)
                let command = "belfry sandbox certificates --pki \(directory) --topics"
                #expect(error?.problem.contains(command) == (content == nil))
                try Data().write(to: URL(filePath: file))
            }
        }
    }

    @Test("A script of faults that is wrong is named before anything is begun that would have to be ended")
    func nothingBegun() async throws {
        try await withDirectory { directory in
            try Sandbox.writeCertificates(directory: directory, topics: ["com.example.a"])
            let (script, log) = ("\(directory)/faults.json", "\(directory)/accepted.log")
            try Data("nonsense".utf8).write(to: URL(filePath: script))
            let error = await #expect(throws: SandboxSetupError.self) {
                try await start(
                    {
                        $0.faultScript = script
                        $0.ledger.acceptedLogFile = log
                    },
                    directory
                )
            }
            #expect(error?.subject == script)
            #expect(!FileManager.default.fileExists(atPath: log))
        }
    }

    @Test("Writing certificates tells how many files are new and how many were kept")
    func certificatesReport() async throws {
        try await withDirectory { directory in
            let first = try Sandbox.writeCertificates(directory: directory, topics: ["com.example.a"])
            #expect(first.text == "\(directory): files written: 9, kept: 0")
            let written = try FileManager.default.contentsOfDirectory(atPath: directory)
            // The ninth is the key in its directory.
            #expect(written.count == 9 && written.contains("keys.json") && written.contains("keys"))
            var second = try Sandbox.writeCertificates(
                directory: directory,
                topics: ["com.example.a", "com.example.b"]
            )
            try Sandbox.writeDeviceCertificates(directory: directory, devices: 0...2, report: &second)
            #expect(second.json == #"{"directory":"\#(directory)","kept":9,"written":5}"#)
        }
    }

    @Test("A key for provider tokens lies in the directory as in its folder; one of another team only in its folder")
    func keyCopies() async throws {
        try await withDirectory { directory in
            func keys(_ folder: String) throws -> [String: Data] {
                let names = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".p8") }
                return try Dictionary(
                    uniqueKeysWithValues: names.map { ($0, try Data(contentsOf: URL(filePath: "\(folder)/\($0)"))) }
                )
            }
            try Sandbox.writeCertificates(directory: directory, topics: ["com.example.a"], withTopicKeys: true)
            try Sandbox.writeCertificates(directory: directory, topics: ["com.example.b"], team: "OTHER")
            let first = try keys("\(directory)/keys")
            #expect(first.count == 2 && first.keys.allSatisfy { $0.hasPrefix("AuthKey_") })
            #expect(try keys(directory) == first && keys("\(directory)/keys/OTHER").count == 1)

            // A directory of before has none, and one whose key was replaced another one.
            let names = first.keys.sorted()
            let name = names[0]
            try FileManager.default.removeItem(atPath: "\(directory)/\(name)")
            try first[name]?.write(to: URL(filePath: "\(directory)/\(names[1])"))
            try Sandbox.writeCertificates(directory: directory, topics: ["com.example.a"], withTopicKeys: true)
            #expect(try keys(directory) == first)
            for file in ["\(directory)/\(name)", "\(directory)/keys/\(name)"] {
                #expect(try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int == 0o600)
            }
        }
    }

    @Test("Revoking tells of whom, where, and whether it was taken back")
    func revocationReport() async throws {
        try await withDirectory { directory in
            try Sandbox.writeCertificates(directory: directory, topics: ["com.example.a"])
            let report = try Sandbox.revoke(pkiDirectory: directory, topics: ["com.example.a"])
            #expect(report.text == "revoked for development, by \(directory)/crl.pem: com.example.a")
            let undone = try Sandbox.revoke(pkiDirectory: directory, topics: ["com.example.a"], isUndone: true)
            #expect(
                undone.json
                    == #"{"environment":"development","file":"\#(directory)/crl.pem","revoked":false,"#
                    + #""topics":["com.example.a"]}"#
            )
        }
    }

    @Test("A setting that cannot work is named")
    func settings() async throws {
        try await withDirectory { directory in
            try Sandbox.writeCertificates(directory: directory, topics: ["com.example.a"])
            let table: [(String, (inout SandboxConfiguration) -> Void)] = [
                ("topics", { $0.topics = [] }), ("topics", { $0.topics = ["a", "a"] }), ("devices", { $0.devices = 0 }),
                ("devices", { $0.devices = 1 << 24 }), ("threads", { $0.threads = 0 }),
            ]
            for (subject, change) in table {
                let error = await #expect(throws: SandboxSetupError.self) { try await start(change, directory) }
                #expect(error?.subject == subject)
            }
        }
    }

    @Test("An address that is not this machine's is named, with the option that names another")
    func foreignAddress() async throws {
        try await withDirectory { directory in
            try Sandbox.writeCertificates(directory: directory, topics: ["com.example.a"])
            // Reserved for documentation: no machine has it.
            let error = await #expect(throws: SandboxPortError.self) {
                try await start({ $0.listenHost = "192.0.2.1" }, directory)
            }
            #expect(
                error?.description
                    == "cannot listen on 192.0.2.1:0: the address is not this machine's; --listen names another address"
            )
        }
    }

    @Test("A port that is taken is named, with the option that names another")
    func takenPort() async throws {
        try await RunningSandbox.run { sandbox in
            let taken = sandbox.server.ports.gateway
            let error = await #expect(throws: SandboxPortError.self) {
                try await start({ $0.feedbackPort = taken }, sandbox.pki.directory)
            }
            #expect(error?.port == taken)
            #expect(
                error?.description == "cannot listen on 127.0.0.1:\(taken): the port is taken by another process; "
                    + "--feedback-port names another port"
            )
        }
    }

    @Test("Printed tokens are those that the running server accepts")
    func printedTokens() async throws {
        try await RunningSandbox.run { sandbox in
            var printed: [String] = []
            try Sandbox.forEachToken(
                pkiDirectory: sandbox.pki.directory,
                topic: "com.example.a",
                first: 998,
                count: 2
            ) { printed.append($0) }
            #expect(try printed == [998, 999].map { Hex.encode(try sandbox.token($0)) })
            let provider = try await sandbox.connect(to: sandbox.server.ports.gateway)
            provider.send(
                try printed.flatMap { Frame.command2(identifier: 1, token: try Hex.decode($0)) }
                    + Frame.sentinel(identifier: 2)
            )
            #expect(try await provider.end.get().answer?.identifier == 2)
            #expect(try await sandbox.stats()["accepted"] == .integer(2))
        }
    }

    @Test(
        "Tokens are refused for devices that no topic can have",
        arguments: [(-1, 1), (0, -1), (16_777_215, 1), (1, .max)]
    )
    func tokenRange(first: Int, count: Int) {
        #expect(throws: SandboxSetupError.self) {
            try Sandbox.forEachToken(pkiDirectory: "nowhere", topic: "a", first: first, count: count) { _ in }
        }
    }

    @Test("100,000 devices in each of three topics do not keep it from starting at once")
    func population() async throws {
        try await withDirectory { directory in
            let topics = ["com.example.a", "com.example.b", "com.example.c"]
            try Sandbox.writeCertificates(directory: directory, topics: topics)
            try await start(
                {
                    $0.topics = topics
                    $0.devices = 100_000
                },
                directory
            )
        }
    }

    @Test("The ready line is the one of the command line's contract")
    func readyLine() {
        let ports = SandboxPorts(gateway: 2195, feedback: 2196, device: 5223, api: 2197, control: 2190)
        #expect(ports.json == #"{"gateway":2195,"feedback":2196,"device":5223,"api":2197,"control":2190}"#)
    }
}
