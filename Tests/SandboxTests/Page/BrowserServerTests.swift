import APNsProtocol
import Foundation
import TLSTransport
import TestSupport
import Testing

@testable import Sandbox

/// The page in Debian's chromium, with notifications coming in over gateway and provider API. `BELFRY_TEST_PYTHON`
/// names a Python that has selenium; pictures are kept, see ``ForeignScript/screenshots``.
struct BrowserServerTests {
    private func runBrowser(_ sandbox: RunningSandbox) async throws -> [String: Bool] {
        try await ForeignScript(name: "page_test.py")
            .run(["\(sandbox.server.ports.control)", RunningSandbox.topics[0], ForeignScript.screenshots])
    }

    /// Sends good notifications, two on a connection, and an invalid one whose answer ends it; a request to the
    /// provider API; then the next connections, until it is cancelled. So the pace is the sandbox's, and the test does
    /// not wait for time.
    private func send(to sandbox: RunningSandbox, _ identity: TLSIdentity) async throws {
        var device: UInt32 = 0
        while !Task.isCancelled {
            // As below.
            _ = try? await sandbox.call([call(sandbox.token(device))], identity: identity)
            var frames: [UInt8] = []
            for _ in 0..<2 {
                device = (device + 37) % 1000
                frames += Frame.command2(identifier: device + 1, token: try sandbox.token(device))
            }
            frames += Frame.sentinel(identifier: 1001)
            // A fault at the door may refuse it: the next try follows.
            guard let provider = try? await sandbox.connect(to: sandbox.server.ports.gateway) else { continue }
            provider.send(frames)
            _ = try await provider.end.get()
        }
    }

    private func call(
        _ token: [UInt8],
        headers: [String: String] = [:],
        body: [UInt8] = Frame.payload(n: 1)
    ) -> APICall {
        APICall(path: ProviderPath.text(token: token), headers: headers, body: body)
    }

    /// Sends a notification of the second topic, with markup and controls in it, to the devices in the middle.
    private func sendMarkup(to sandbox: RunningSandbox) async throws {
        let topic = RunningSandbox.topics[1]
        let body = #"\u0007\u202e"# + String(repeating: "<b>", count: 1000)
        let alert = #"{"title":"<img src=x onerror='document.title=0'>","body":"\#(body)"}"#
        let payload = #"{"aps":{"alert":\#(alert),"badge":7}}"#
        let requests = try [499, 500].map { device in
            call(
                try sandbox.token(device, topic: topic),
                headers: ["apns-push-type": "alert", "apns-collapse-id": "<i>"],
                body: Array(payload.utf8)
            )
        }
        let identity = try TLSIdentity(pemFile: sandbox.pki.pemFile(bundleID: topic))
        #expect(try await sandbox.call(requests, identity: identity).map(\.status) == [200, 200])
    }

    /// UNIX seconds, as they pass.
    private static func now() -> UInt32 { UInt32(Date.now.timeIntervalSince1970) }

    @Test("The page moves, zooms, shows notifications, switches faults and is reached by keyboard in a real browser")
    func browser() async throws {
        try await RunningSandbox.run(threads: 1, clock: Self.now) { sandbox in
            let identity = try TLSIdentity(pemFile: sandbox.pki.pemFile(bundleID: RunningSandbox.topics[0]))
            let wrong = try await sandbox.call([call([UInt8](repeating: 0, count: 32))], identity: identity)
            #expect(wrong.map(\.reason) == ["BadDeviceToken"])
            try await sendMarkup(to: sandbox)
            let sender = Task { try await send(to: sandbox, identity) }
            let result: Result<[String: Bool], any Error>
            do {
                result = .success(try await runBrowser(sandbox))
            } catch {
                result = .failure(error)
            }
            sender.cancel()
            _ = await sender.result
            let held = try result.get()
            #expect(held.count > 30)
            #expect(held.values.allSatisfy { $0 })
        }
    }
}
