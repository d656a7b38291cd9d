import Foundation
import Workbench

/// A directory that goes with the test.
public final class TemporaryDirectory: Sendable {
    public let path: String

    public init() {
        path = NSTemporaryDirectory() + "belfry-\(UUID().uuidString)"
        try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }
}

/// Other people's programs: the tests' second opinion.
public enum ForeignProcess {
    public struct Result: Sendable {
        public var status: Int32
        public var output: [UInt8]
        public var errors: String
    }

    /// The `openssl` command.
    public static func openssl(_ arguments: String..., input: String = "") throws -> Result {
        try run("/usr/bin/env", ["openssl"] + arguments, input: input)
    }

    /// The Python with the test packages: `BELFRY_TEST_PYTHON`.
    public static func python(_ arguments: String...) throws -> Result {
        let interpreter = ProcessInfo.processInfo.environment["BELFRY_TEST_PYTHON"]
        guard let interpreter else { throw MissingVariable(name: "BELFRY_TEST_PYTHON") }
        return try run(interpreter, arguments, input: "")
    }

    public struct MissingVariable: Error {
        public var name: String
    }

    /// Runs a program to its end.
    ///
    /// - Parameter input: text, of which a program that reads lines ignores one more line end.
    public static func run(_ program: String, _ arguments: [String], input: String) throws -> Result {
        let directory = TemporaryDirectory()
        let process = try ChildProcess(
            arguments.first ?? program,
            executable: program,
            arguments: arguments,
            logFile: "\(directory.path)/errors.log",
            takesInput: true
        )
        // A program that does not read its input has perhaps ended: its status tells.
        if !input.isEmpty { try? process.tell(String(input.hasSuffix("\n") ? input.dropLast() : input[...])) }
        process.closeInput()
        let output = Array(process.outputToEnd().utf8)
        return Result(status: process.wait(), output: output, errors: process.log)
    }
}
