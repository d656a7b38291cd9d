import Foundation
import Testing

@testable import Sandbox

/// The page in Debian's chromium, with notifications coming in over the gateway. `BELFRY_TEST_PYTHON` names a Python
/// that has selenium; `BELFRY_TEST_SCREENSHOTS` a directory for pictures, if they are wanted.
struct BrowserTests {
    private func runBrowser(_ sandbox: RunningSandbox) async throws -> [String: Bool] {
        let screenshots = ProcessInfo.processInfo.environment["BELFRY_TEST_SCREENSHOTS"].map { [$0] } ?? []
        return try await ForeignScript(name: "page_test.py")
            .run(["\(sandbox.server.ports.control)", RunningSandbox.topics[0]] + screenshots)
    }

    /// Sends good notifications, two on a connection, and an invalid one whose answer ends it; then the next
    /// connection, until it is cancelled. So the pace is the sandbox's, and nobody waits for time.
    private func send(to sandbox: RunningSandbox) async throws {
        var device: UInt32 = 0
        while !Task.isCancelled {
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

    @Test("The page loads, moves, zooms, switches faults and is reached by keyboard in a real browser")
    func browser() async throws {
        try await RunningSandbox.run(threads: 1) { sandbox in
            let sender = Task { try await send(to: sandbox) }
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
