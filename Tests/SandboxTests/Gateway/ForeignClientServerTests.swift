import APNsProtocol
import Foundation
import TestSupport
import Testing

@testable import Sandbox

/// A provider that is not ours: PyPI's apns-clerk. `BELFRY_TEST_PYTHON` names a Python that has it.
struct ForeignClientServerTests {
    private struct Report: Decodable {
        let first_failed: [String: Int]
        let needs_retry: Bool
        let retried: Int
        let second_failed: [String: Int]
        let feedback: [String]
    }

    private func runClient(_ sandbox: RunningSandbox, tokens: [String]) async throws -> Report {
        let ports = sandbox.server.ports
        let certificate = sandbox.pki.pemFile(bundleID: "com.example.a")
        return try await ForeignScript(name: "apns_clerk_client.py")
            .run(["\(ports.gateway)", "\(ports.feedback)", certificate], input: tokens.joined(separator: "\n"))
    }

    @Test("apns-clerk sends, gets the error response for a bad token, sends the rest again, and reads feedback")
    func apnsClerk() async throws {
        // The library sets expirations from today.
        let clock: @Sendable () -> UInt32 = { UInt32(clamping: Int(Date().timeIntervalSince1970)) }
        try await RunningSandbox.run(clock: clock) { sandbox in
            let tokens = try (0..<10 as Range<UInt32>).map { Hex.encode(try sandbox.token($0)) }
            let change = #"{"topic":"com.example.a","first":9,"count":1,"state":"uninstalled"}"#
            #expect(try await sandbox.control("POST", "/devices", change).status == 200)

            let report = try await runClient(sandbox, tokens: tokens)
            #expect(report.first_failed == [String(repeating: "00", count: 32): 8])
            #expect(report.needs_retry)
            #expect(report.retried == 5)
            #expect(report.second_failed == [String(repeating: "ff", count: 32): 8])
            #expect(report.feedback == [tokens[9]])

            let stats = try await sandbox.stats()
            #expect(stats["accepted"] == .integer(10))
            #expect(stats["distinct"] == .integer(10))
            #expect(stats["discarded"] == .integer(5))
            #expect(stats["rejected"] == .object(["8": .integer(2)]))
        }
    }
}
