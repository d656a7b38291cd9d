import Foundation

/// A script of Tests/Foreign, run by the Python that `BELFRY_TEST_PYTHON` names.
struct ForeignScript {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private static let directory = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Foreign")

    let name: String

    /// Runs it to its end, expects success, and decodes what it says. Input, output and complaints have to fit into
    /// pipes.
    func run<Report: Decodable>(_ arguments: [String], input: String = "") async throws -> Report {
        guard let python = ProcessInfo.processInfo.environment["BELFRY_TEST_PYTHON"] else {
            throw Failure(description: "BELFRY_TEST_PYTHON has to name a Python with what \(name) imports")
        }
        let (words, output, errors) = (Pipe(), Pipe(), Pipe())
        let process = Process()
        process.executableURL = URL(filePath: python)
        process.arguments = [Self.directory.appending(path: name).path] + arguments
        process.standardInput = words
        process.standardOutput = output
        process.standardError = errors
        words.fileHandleForWriting.write(Data(input.utf8))
        try words.fileHandleForWriting.close()
        let status = try await withCheckedThrowingContinuation { continuation in
            process.terminationHandler = { continuation.resume(returning: $0.terminationStatus) }
            do { try process.run() } catch { continuation.resume(throwing: error) }
        }
        let complaint = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        guard status == 0 else { throw Failure(description: "\(name) ended with \(status): \(complaint)") }
        return try JSONDecoder().decode(Report.self, from: output.fileHandleForReading.readDataToEndOfFile())
    }
}
