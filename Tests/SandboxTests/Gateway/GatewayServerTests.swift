import APNsProtocol
import TLSTransport
import Testing

@testable import Sandbox

/// The gateway over real TLS.
struct GatewayServerTests {
    private func frames(_ sandbox: RunningSandbox, _ devices: Range<UInt32>) throws -> [UInt8] {
        try devices.flatMap { Frame.command2(identifier: $0 + 1, token: try sandbox.token($0), n: Int($0)) }
    }

    @Test("What a provider sends is accepted under its certificate's topic, and the answer ends the stream cleanly")
    func acceptAndAnswer() async throws {
        for version in [TLSContext.MinimumVersion.tls12, .tls13] {
            try await RunningSandbox.run { sandbox in
                let provider = try await sandbox.connect(to: sandbox.server.ports.gateway, minimumVersion: version)
                provider.send(try frames(sandbox, 0..<100) + Frame.sentinel(identifier: 101))
                let end = try await provider.end.get()
                #expect(end.answer == ErrorResponse(status: .missingDeviceToken, identifier: 101))
                #expect(end.error == nil)
                let stats = try await sandbox.stats()
                #expect(stats["accepted"] == .integer(100))
                #expect(stats["distinct"] == .integer(100))
                #expect(stats["delivered"] == .integer(100))
                #expect(stats["rejected"] == .object(["2": .integer(1)]))
                #expect(try await sandbox.stats(topic: "com.example.b")["accepted"] == .integer(0))
            }
        }
    }

    @Test("Open connections are counted by the certificates that providers have shown")
    func certificates() async throws {
        try await RunningSandbox.run { sandbox in
            let serial = try TLSIdentity(pemFile: sandbox.pki.pemFile(bundleID: "com.example.b")).certificate.serialHex
            let providers = [
                try await sandbox.connect(to: sandbox.server.ports.gateway, topic: "com.example.b"),
                try await sandbox.connect(to: sandbox.server.ports.gateway, topic: "com.example.b"),
            ]
            try await sandbox.wait(for: #""certificates":{"\#(serial)":2}"#)
            providers[0].send(Frame.sentinel(identifier: 1))
            _ = try await providers[0].end.get()
            try await sandbox.wait(for: #""certificates":{"\#(serial)":1}"#)
            providers[1].send(Frame.sentinel(identifier: 1))
            _ = try await providers[1].end.get()
            while try await sandbox.control("GET", "/stats").body.contains("certificates") {}
        }
    }

    @Test("The answer arrives though megabytes follow the notification it names")
    func answerSurvivesBacklog() async throws {
        try await RunningSandbox.run(threads: 2) { sandbox in
            let rest = try frames(sandbox, 0..<1000)
            let provider = try await sandbox.connect(to: sandbox.server.ports.gateway)
            provider.send(try frames(sandbox, 0..<10) + Frame.sentinel(identifier: 11))
            for _ in 0..<50 { provider.send(rest) }
            let end = try await provider.end.get()
            #expect(end.answer == ErrorResponse(status: .missingDeviceToken, identifier: 11))
            #expect(try await sandbox.stats()["accepted"] == .integer(10))
        }
    }

    @Test("What follows a refused notification is counted as discarded, to the provider's last byte")
    func discardedAreCounted() async throws {
        try await RunningSandbox.run { sandbox in
            let provider = try await sandbox.connect(to: sandbox.server.ports.gateway)
            // One write: all of it has left the provider before it can know of the answer.
            provider.send(Frame.sentinel(identifier: 1) + (try frames(sandbox, 0..<50)))
            _ = try await provider.end.get()
            #expect(try await sandbox.stats()["discarded"] == .integer(50))
        }
    }

    @Test("A provider that has closed its side still gets the answer, even one that is held back")
    func answerAfterHalfClose() async throws {
        try await RunningSandbox.run { sandbox in
            let armed = try await sandbox.control("POST", "/faults", #"{"name":"answer-delay","milliseconds":20}"#)
            #expect(armed.status == 200)
            let provider = try await sandbox.connect(to: sandbox.server.ports.gateway)
            provider.send(try frames(sandbox, 0..<1) + Frame.sentinel(identifier: 2))
            provider.closeOutput()
            let end = try await provider.end.get()
            #expect(end.answer == ErrorResponse(status: .missingDeviceToken, identifier: 2))
            #expect(end.error == nil)
        }
    }

    @Test("A provider that closes without an error is closed on, without a packet")
    func peaceful() async throws {
        try await RunningSandbox.run { sandbox in
            let provider = try await sandbox.connect(to: sandbox.server.ports.gateway)
            provider.send(try frames(sandbox, 0..<5))
            provider.closeOutput()
            let end = try await provider.end.get()
            #expect(end.bytes.isEmpty)
            #expect(end.error == nil)
            #expect(try await sandbox.stats()["accepted"] == .integer(5))
        }
    }

    @Test("A client without a certificate, or with one for a topic or environment that is not served, is turned away")
    func refusals() async throws {
        try await RunningSandbox.run { sandbox in
            let authority = CertificateAuthority(root: try TLSIdentity(pemFile: sandbox.pki.authorityKeyFile))
            let stranger = try CertificateAuthority(commonName: "Somebody else")
            let identities: [TLSIdentity?] = [
                nil,
                try authority.issueClient(bundleID: "com.example.unknown", environments: .development),
                try authority.issueClient(bundleID: "com.example.a", environments: .production),
                try stranger.issueClient(bundleID: "com.example.a", environments: .development),
            ]
            for identity in identities {
                let provider = try await sandbox.connect(to: sandbox.server.ports.gateway, identity: identity)
                provider.send(try frames(sandbox, 0..<1))
                #expect(try await provider.end.get().bytes.isEmpty)
            }
            #expect(try await sandbox.stats()["accepted"] == .integer(0))
            let answer = try await sandbox.control("GET", "/stats")
            #expect(answer.body.contains(#""refused":4,"total":4"#))
        }
    }
}
