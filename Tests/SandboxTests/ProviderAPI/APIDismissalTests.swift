import APNsProtocol
import HTTP2Transport
import NIOCore
import Testing

@testable import Sandbox

/// GOAWAYs and resets of the provider API in the counts.
struct APIDismissalTests {
    private let fixture: APIFixture

    init() throws {
        fixture = try APIFixture()
    }

    private func arm(_ behaviour: Fault.Behaviour) {
        fixture.topic().changeFaults { $0.arm(Fault(behaviour)) }
    }

    /// As `/stats` shows them.
    private var counts: StatsDocument.API { StatsDocument(of: fixture.service).api }

    @Test("GOAWAYs are counted by the reason in their debug data, and by the code without one")
    func goAways() throws {
        _ = fixture.connect(APIFixture.certificate(environments: .production))
        for behaviour in [
            .shutdownAfter(count: 1), .goAwayAfter(Fault.GoAway(count: 1, reason: "Why", code: .enhanceYourCalm)),
            .goAwayAfter(Fault.GoAway(count: 1, reason: "", code: .cancel)),
        ] as [Fault.Behaviour] {
            fixture.topic().changeFaults { $0.clear() }
            arm(behaviour)
            #expect(try fixture.connect(APIFixture.certificate()).reply(fixture.request())?.status == 200)
        }
        #expect(counts.goAways == ["BadCertificateEnvironment": 1, "Shutdown": 1, "Why": 1, "CANCEL": 1])
        #expect(counts.resets.isEmpty && counts.rejected.isEmpty)
    }

    @Test("A client that breaks the protocol, or goes too far, is counted by the code")
    func violations() throws {
        // DATA on a stream that was not opened, and more pings at once than are allowed.
        let idle: [UInt8] = [0, 0, 1, 0, 0, 0, 0, 0, 1, 0]
        let ping: [UInt8] = [0, 0, 8, 6, 0, 0, 0, 0, 0] + [UInt8](repeating: 0, count: 8)
        for bytes in [idle, Array(repeatElement(ping, count: 1000).joined())] {
            let client = fixture.connect(APIFixture.certificate())
            client.session.receive(ByteBuffer(bytes: bytes), now: client.time)
            client.pump()
        }
        #expect(counts.goAways == ["PROTOCOL_ERROR": 1, "ENHANCE_YOUR_CALM": 1])
    }

    @Test("Resets are counted by code: those of a fault, and the streams beyond the limit")
    func resets() throws {
        let client = fixture.connect(APIFixture.certificate())
        arm(.streamReset(Fault.StreamReset(code: .internalError)))
        #expect(try client.reply(fixture.request()) == nil)
        fixture.topic().changeFaults { $0.clear() }
        #expect(counts.resets == ["INTERNAL_ERROR": 1])
        arm(.streamLimit(count: 1))
        client.session.faultsChanged()
        // In one chunk, before the client knows of the limit.
        for n in 2...4 { try client.open(fixture.request(n: n)) }
        client.pump()
        #expect(client.ends.values.count { $0 == .refusedStream } == 2)
        #expect(counts.resets == ["INTERNAL_ERROR": 1, "REFUSED_STREAM": 2])
    }

    @Test("GOAWAYs and resets that were never sent are not counted: the connection ended before")
    func unsent() throws {
        arm(.closeAfter(count: 0))
        let client = fixture.connect(APIFixture.certificate())
        #expect(try client.reply(fixture.request()) == nil)
        #expect(counts.goAways.isEmpty && counts.resets.isEmpty)
    }
}
