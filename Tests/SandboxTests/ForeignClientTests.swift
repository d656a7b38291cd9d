import APNsProtocol
import Foundation
import Testing

@testable import Sandbox

/// A provider that is not ours: PyPI's apns-clerk. `BELFRY_TEST_PYTHON` names a Python that has it.
struct ForeignClientTests {
    private struct Report: Decodable {
        let first_failed: [String: Int]
        let needs_retry: Bool
        let retried: Int
        let second_failed: [String: Int]
        let feedback: [String]
    }

    private struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// Beside this file's directory.
    private static let script = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Foreign/apns_clerk_client.py").path

    private func runClient(_ sandbox: RunningSandbox, tokens: [String]) async throws -> Report {
        guard let python = ProcessInfo.processInfo.environment["BELFRY_TEST_PYTHON"] else {
            throw Failure(description: "BELFRY_TEST_PYTHON has to name a Python with apns-clerk")
        }
        let (input, output, errors) = (Pipe(), Pipe(), Pipe())
        let process = Process()
        process.executableURL = URL(filePath: python)
        let ports = sandbox.server.ports
        let certificate = sandbox.pki.pemFile(bundleID: "com.example.a")
        process.arguments = [Self.script, "\(ports.gateway)", "\(ports.feedback)", certificate]
        process.standardInput = input
        process.standardOutput = output
        process.standardError = errors
        // The pipes hold far more than these few lines, so nobody waits for anybody.
        input.fileHandleForWriting.write(Data(tokens.joined(separator: "\n").utf8))
        try input.fileHandleForWriting.close()
        let status = try await withCheckedThrowingContinuation { continuation in
            process.terminationHandler = { continuation.resume(returning: $0.terminationStatus) }
            do { try process.run() } catch { continuation.resume(throwing: error) }
        }
        let complaint = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        guard status == 0 else { throw Failure(description: "the client ended with \(status): \(complaint)") }
        return try JSONDecoder().decode(Report.self, from: output.fileHandleForReading.readDataToEndOfFile())
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
