import Foundation

/// A directory that goes with the test.
final class TemporaryDirectory: Sendable {
    let path: String

    init() {
        self.path = NSTemporaryDirectory() + "tls-\(UUID().uuidString)"
        try? FileManager.default.createDirectory(atPath: self.path, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: self.path)
    }
}

/// Other people's programs: the tests' second opinion.
enum ForeignProcess {
    struct Result: Sendable {
        var status: Int32
        var output: [UInt8]
        var errors: String
    }

    /// The `openssl` command.
    static func openssl(_ arguments: String..., input: String = "") throws -> Result {
        try self.run("/usr/bin/env", ["openssl"] + arguments, input: input)
    }

    /// The Python with the test packages: `BELFRY_TEST_PYTHON`.
    static func python(_ arguments: String...) throws -> Result {
        let interpreter = ProcessInfo.processInfo.environment["BELFRY_TEST_PYTHON"]
        guard let interpreter else { throw MissingVariable(name: "BELFRY_TEST_PYTHON") }
        return try self.run(interpreter, arguments, input: "")
    }

    struct MissingVariable: Error {
        var name: String
    }

    static func run(_ program: String, _ arguments: [String], input: String) throws -> Result {
        let (process, inputPipe, outputPipe) = self.make(program, arguments)
        let errorPipe = Pipe()
        process.standardError = errorPipe
        try process.run()
        inputPipe.fileHandleForWriting.write(Data(input.utf8))
        try inputPipe.fileHandleForWriting.close()
        let output = [UInt8](outputPipe.fileHandleForReading.readDataToEndOfFile())
        let errors = String(decoding: errorPipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return Result(status: process.terminationStatus, output: output, errors: errors)
    }

    static func make(_ program: String, _ arguments: [String]) -> (Process, input: Pipe, output: Pipe) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        let (input, output) = (Pipe(), Pipe())
        process.standardInput = input
        process.standardOutput = output
        return (process, input, output)
    }
}
