import APNsProtocol
import Foundation
import HTTP2Transport
import NIOCore
import TLSTransport
import TestSupport
import Testing

@testable import Sandbox

/// The provider API judges frames as RFC 9113 wants it: the table of ``ConformanceCase``.
struct ConformanceServerTests {
    /// The stream of the request that shows that a connection goes on.
    private static let laterStream: UInt32 = 1001

    private func client(_ fault: Fault.Behaviour?) throws -> WireClient {
        let fixture = try APIFixture()
        if let fault { fixture.topic().changeFaults { $0.arm(Fault(fault)) } }
        return WireClient(
            APISession(service: fixture.service, certificate: APIFixture.certificate(), keys: [], seed: 1)
        )
    }

    @Test("Each frame has the outcome of its section, however it is cut", arguments: ConformanceCase.all)
    func table(row: ConformanceCase) throws {
        for chunkBytes in [Int.max, 1] {
            let client = try client(row.fault)
            if row.opens {
                client.send(Wire.preface + Wire.settings() + Wire.frame(4, flags: 1), chunkBytes: .max)
                #expect(client.outcome() == WireOutcome(settingsAnswers: 1))
            }
            client.send(row.first, chunkBytes: .max)
            client.send(row.bytes, chunkBytes: chunkBytes)
            client.wait()
            #expect(client.outcome() == row.expected, "\(chunkBytes == 1 ? "byte by byte" : "at once")")
            guard !row.expected.isOver else { continue }
            client.send(Wire.ping() + Wire.request(Self.laterStream), chunkBytes: chunkBytes)
            client.wait()
            let later = client.outcome()
            #expect(later.pongs == 1 && later.answers[Self.laterStream] == 200, "the connection goes on")
        }
    }

    @Test("Tests/CONFORMANCE.md tells how many rows there are, and which of them deviate from the specification")
    func document() throws {
        let file = Repository.top.appending(path: "Tests/CONFORMANCE.md")
        let text = try String(contentsOf: file, encoding: .utf8).split(separator: /\s+/).joined(separator: " ")
        #expect(text.contains("`ConformanceServerTests.table` sends \(ConformanceCase.all.count) rows"))
        for row in ConformanceCase.deviations { #expect(text.contains("`\(row.rule)` (\(row.section))")) }
    }

    @Test("Bodies wait while a window is below zero, and go on behind what the client gives")
    func negativeWindow() throws {
        // A client that takes three bytes of a body, and then none at all (§6.9.2).
        let client = try client(nil)
        client.send(Wire.preface + Wire.settings((4, 3)), chunkBytes: .max)
        let wrong = [0x83, 0x87] + Wire.field(":authority", "localhost") + Wire.field(":path", "/3/device/00")
        client.send(Wire.headers(1, wrong) + Wire.data(1), chunkBytes: .max)
        let opening = client.outcome()
        #expect(opening.answers == [1: 400] && opening.bodyParts == [3])
        client.send(Wire.settings((4, 0)) + Wire.window(1, 3), chunkBytes: .max)
        #expect(client.outcome() == WireOutcome(settingsAnswers: 1), "the window is 0 after 3 of -3")
        client.send(Wire.window(1, 10), chunkBytes: .max)
        #expect(client.outcome() == WireOutcome(bodyParts: [10]))
        client.send(Wire.settings((4, 100)), chunkBytes: .max)
        let rest = ProviderErrorBody(reason: .badDeviceToken).json.count - 13
        #expect(client.outcome() == WireOutcome(bodyParts: [rest], settingsAnswers: 1))
    }

    @Test("Over a socket a connection error is told by GOAWAY before the end", .timeLimit(.minutes(2)))
    func socket() async throws {
        try await RunningSandbox.run { sandbox in
            let identity = try TLSIdentity(pemFile: sandbox.pki.pemFile(bundleID: RunningSandbox.topics[0]))
            let provider = try await sandbox.connect(to: sandbox.server.ports.api, identity: identity)
            provider.send(Wire.preface + Wire.settings() + Wire.data(1))
            let bytes = ByteBuffer(bytes: try await provider.end.get().bytes)
            #expect(WireOutcome(parsing: bytes, isOver: true).goAway == .protocolError)
        }
    }
}
