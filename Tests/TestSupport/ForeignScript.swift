import Foundation
import Workbench

/// A script of Tests/Foreign, run by the Python that `BELFRY_TEST_PYTHON` names.
public struct ForeignScript {
    public struct Failure: Error, CustomStringConvertible {
        public let description: String
    }

    private static let directory = Repository.top.appending(path: "Tests/Foreign")

    /// The directory for pictures of pages: that of `BELFRY_TEST_SCREENSHOTS`, or one beside what is built.
    public static var screenshots: String {
        ProcessInfo.processInfo.environment["BELFRY_TEST_SCREENSHOTS"]
            ?? Repository.top.appending(path: ".build/screenshots").path
    }

    private let name: String

    public init(name: String) { self.name = name }

    /// Runs it to its end, expects success, and decodes what it says.
    public func run<Report: Decodable>(_ arguments: [String], input: String = "") async throws -> Report {
        guard let python = ProcessInfo.processInfo.environment["BELFRY_TEST_PYTHON"] else {
            throw Failure(description: "BELFRY_TEST_PYTHON has to name a Python with what \(name) imports")
        }
        let errors = NSTemporaryDirectory() + "belfry-\(name)-\(UUID().uuidString).log"
        defer { try? FileManager.default.removeItem(atPath: errors) }
        let process = try ChildProcess(
            name,
            executable: python,
            arguments: [Self.directory.appending(path: name).path] + arguments,
            environment: ["PYTHONDONTWRITEBYTECODE": "1"],
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
