import APNsProtocol
import Foundation
import Testing

@testable import Sandbox

/// A device that is not ours, written against the table of the courier's frames. `BELFRY_TEST_PYTHON` names a Python.
struct ForeignDeviceTests {
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

    private struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// Beside this file's directory.
    private static let script = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Foreign/courier_device.py").path

    private func runDevice(_ arguments: [String]) async throws -> Report {
        guard let python = ProcessInfo.processInfo.environment["BELFRY_TEST_PYTHON"] else {
            throw Failure(description: "BELFRY_TEST_PYTHON has to name a Python")
        }
        let (output, errors) = (Pipe(), Pipe())
        let process = Process()
        process.executableURL = URL(filePath: python)
        process.arguments = [Self.script] + arguments
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = errors
        // The pipes hold far more than these few lines, so nobody waits for anybody.
        let status = try await withCheckedThrowingContinuation { continuation in
            process.terminationHandler = { continuation.resume(returning: $0.terminationStatus) }
            do { try process.run() } catch { continuation.resume(throwing: error) }
        }
        let complaint = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        guard status == 0 else { throw Failure(description: "the device ended with \(status): \(complaint)") }
        return try JSONDecoder().decode(Report.self, from: output.fileHandleForReading.readDataToEndOfFile())
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
            let report = try await runDevice([
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
