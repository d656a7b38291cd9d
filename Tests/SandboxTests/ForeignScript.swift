import Foundation
import TestSupport

/// A script of Tests/Foreign, run by the Python that `BELFRY_TEST_PYTHON` names.
struct ForeignScript {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private static let directory = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Foreign")

    let name: String

    /// Runs it to its end, expects success, and decodes what it says.
    func run<Report: Decodable>(_ arguments: [String], input: String = "") async throws -> Report {
        guard let python = ProcessInfo.processInfo.environment["BELFRY_TEST_PYTHON"] else {
            throw Failure(description: "BELFRY_TEST_PYTHON has to name a Python with what \(name) imports")
        }
        let errors = NSTemporaryDirectory() + "belfry-\(name)-\(UUID().uuidString).log"
        defer { try? FileManager.default.removeItem(atPath: errors) }
        let process = try ChildProcess(
            name,
            executable: python,
            arguments: [Self.directory.appending(path: name).path] + arguments,
            logFile: errors,
            takesInput: true
        )
        // On a thread of its own: the script may wait for tasks of this test.
        let (output, status) = await withCheckedContinuation { (ended: CheckedContinuation<(String, Int32), Never>) in
            Thread.detachNewThread {
                // A script that does not read its input has perhaps ended: its status tells.
                if !input.isEmpty { try? process.tell(input) }
                process.closeInput()
                let output = process.outputToEnd()
                ended.resume(returning: (output, process.wait()))
            }
        }
        let complaint = process.log
        guard status == 0 else { throw Failure(description: "\(name) ended with \(status): \(complaint)") }
        return try JSONDecoder().decode(Report.self, from: Data(output.utf8))
    }
}
