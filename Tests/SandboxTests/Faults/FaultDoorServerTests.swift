import APNsProtocol
import TLSTransport
import Testing

@testable import Sandbox

/// Faults at the door over real sockets: what a provider sees, and what is counted.
struct FaultDoorServerTests {
    private func arm(_ sandbox: RunningSandbox, _ body: String) async throws {
        #expect(try await sandbox.control("POST", "/faults", body) == (200, "{}"))
    }

    /// A provider is served: its sentinel is answered.
    private func isServed(_ sandbox: RunningSandbox) async throws -> Bool {
        let provider = try await sandbox.connect(to: sandbox.server.ports.gateway)
        provider.send(Frame.sentinel(identifier: 1))
        return try await provider.end.get().answer?.identifier == 1
    }

    @Test("refuse-connects takes and resets connections, at both doors, as often as asked for")
    func refuseConnects() async throws {
        try await RunningSandbox.run { sandbox in
            try await arm(sandbox, #"{"name":"refuse-connects","times":2}"#)
            for port in [sandbox.server.ports.gateway, sandbox.server.ports.feedback] {
                do {
                    let end = try await sandbox.connect(to: port).end.get()
                    #expect(end.bytes.isEmpty)
                    // The reset meets a read or a write by chance; an alert would mean that TLS had begun.
                    #expect(end.error?.contains("alert") == false, "\(end.error ?? "no error")")
                } catch {
                    // The reset was faster than the end of the connect.
                    #expect(!"\(error)".contains("alert"), "\(error)")
                }
            }
            #expect(try await isServed(sandbox))
            try await sandbox.wait(for: #""connections":{"open":0,"refused":2,"total":3}"#)
            #expect(try await sandbox.control("GET", "/stats").body.contains(#""faults":{"refuse-connects":2}"#))
        }
    }

    @Test("refuse-handshakes sends a fatal alert that blames neither the certificate nor the peer's end")
    func refuseHandshakes() async throws {
        for version in [TLSContext.MinimumVersion.tls12, .tls13] {
            try await RunningSandbox.run { sandbox in
                try await arm(sandbox, #"{"name":"refuse-handshakes","times":1}"#)
                let provider = try await sandbox.connect(to: sandbox.server.ports.gateway, minimumVersion: version)
                let error = try await provider.end.get().error
                #expect(error?.contains("alert 40") == true, "\(error ?? "no error")")
                #expect(try await isServed(sandbox))
                try await sandbox.wait(for: #""connections":{"open":0,"refused":1,"total":2}"#)
                #expect(try await sandbox.control("GET", "/stats").body.contains(#""refuse-handshakes":1"#))
            }
        }
    }

    @Test("refuse-certificates sends the alert that the certificate is revoked")
    func refuseCertificates() async throws {
        for version in [TLSContext.MinimumVersion.tls12, .tls13] {
            try await RunningSandbox.run { sandbox in
                try await arm(sandbox, #"{"name":"refuse-certificates","times":1}"#)
                let provider = try await sandbox.connect(to: sandbox.server.ports.gateway, minimumVersion: version)
                let error = try await provider.end.get().error
                #expect(error?.contains("alert 44") == true, "\(error ?? "no error")")
                #expect(try await isServed(sandbox))
                try await sandbox.wait(for: #""connections":{"open":0,"refused":1,"total":2}"#)
                #expect(try await sandbox.control("GET", "/stats").body.contains(#""refuse-certificates":1"#))
            }
        }
    }

    @Test("connect-rate-limit resets and counts connections beyond it")
    func connectRateLimit() async throws {
        try await RunningSandbox.run { sandbox in
            try await arm(sandbox, #"{"name":"connect-rate-limit","perMinute":2}"#)
            #expect(try await isServed(sandbox))
            #expect(try await isServed(sandbox))
            let isThirdServed: Bool
            do { isThirdServed = try await isServed(sandbox) } catch { isThirdServed = false }
            #expect(!isThirdServed)
            #expect(try await sandbox.control("GET", "/stats").body.contains(#""connect-rate-limit":1"#))
            try await sandbox.wait(for: #""connections":{"open":0,"refused":1,"total":3}"#)
            try await arm(sandbox, #"{"clear":"connect-rate-limit"}"#)
            #expect(try await isServed(sandbox))
        }
    }

    @Test("connection-limit closes a topic's connections beyond it behind the handshake, and no other topic's")
    func connectionLimit() async throws {
        try await RunningSandbox.run { sandbox in
            try await arm(sandbox, #"{"name":"connection-limit","count":1,"topic":"com.example.a"}"#)
            let first = try await sandbox.connect(to: sandbox.server.ports.gateway)
            first.send(Frame.command2(identifier: 1, token: try sandbox.token(0)))
            try await sandbox.wait(for: #""accepted":1"#)
            let second = try await sandbox.connect(to: sandbox.server.ports.gateway).end.get()
            #expect(second.bytes.isEmpty)
            #expect(second.error == nil)
            let other = try await sandbox.connect(to: sandbox.server.ports.gateway, topic: "com.example.b")
            other.send(Frame.sentinel(identifier: 7))
            #expect(try await other.end.get().answer?.identifier == 7)
            let stats = try await sandbox.control("GET", "/stats").body
            #expect(stats.contains(#""connection-limit":1"#))
            #expect(stats.contains(#""refused":1"#))
            first.closeOutput()
            _ = try await first.end.get()
            try await sandbox.wait(for: #""open":0"#)
            #expect(try await isServed(sandbox))
        }
    }
}
