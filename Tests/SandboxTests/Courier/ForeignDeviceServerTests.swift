import APNsProtocol
import TestSupport
import Testing

@testable import Sandbox

/// A device that is not ours, written against the table of the courier's frames. `BELFRY_TEST_PYTHON` names a Python.
struct ForeignDeviceServerTests {
    private struct Report: Decodable, Equatable {
        struct Notification: Decodable, Equatable {
            let topic: String
            let token: String
            let expiration: UInt32
            let priority: Int
            let payload: String
        }

        let token: String
        let notification: Notification
        let presented: String
        let renewed: String
        let outdated: UInt8
        let refused: UInt8
        let closed: Bool
    }

    @Test("Python's ssl module is enough to register, receive, present, wipe and be refused")
    func python() async throws {
        try await RunningSandbox.run { sandbox in
            let topic = RunningSandbox.topics[0]
            let change = #"{"topic":"\#(topic)","first":7,"count":1,"state":"offline"}"#
            #expect(try await sandbox.control("POST", "/devices", change).status == 200)
            let provider = try await sandbox.connect(to: sandbox.server.ports.gateway)
            let token = try sandbox.token(7)
            provider.send(Frame.command2(identifier: 1, token: token, n: 5) + Frame.sentinel(identifier: 2))
            #expect(try await provider.end.get().answer?.identifier == 2)

            try sandbox.pki.deviceIdentity(7)
            let report: Report = try await ForeignScript(name: "courier_device.py").run([
                "\(sandbox.server.ports.device)", sandbox.pki.authorityFile, sandbox.pki.deviceFile(7), topic,
                Hex.encode(try sandbox.token(8)),
            ])
            #expect(report.token == Hex.encode(token))
            #expect(report.notification.topic == topic)
            #expect(report.notification.token == report.token)
            #expect(report.notification.priority == 10)
            #expect(report.notification.payload == String(decoding: Frame.payload(n: 5), as: UTF8.self))
            #expect(report.presented == topic)
            #expect(report.renewed != report.token)
            #expect(report.outdated == CourierRefusal.Code.outdatedToken.rawValue)
            #expect(report.refused == CourierRefusal.Code.foreignToken.rawValue)
            #expect(report.closed)
        }
    }
}
