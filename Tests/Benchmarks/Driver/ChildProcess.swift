import Foundation
import Glibc

/// A process that the benchmark starts, pauses and ends, in a process group of its own: what it starts ends with it.
///
/// Its stdout is read line by line, its stderr goes to a log file. Owned by one thread.
final class ChildProcess {
    let name: String
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private var lines: LineReader

    var identifier: pid_t { process.processIdentifier }

    /// Starts the program.
    ///
    /// - Parameter log: takes what the program says on stderr.
    init(_ name: String, program: String, arguments: [String], directory: URL, log: URL) throws {
        self.name = name
        guard FileManager.default.createFile(atPath: log.path, contents: nil) else {
            throw BenchmarkError("\(name): \(log.path) cannot be written")
        }
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        process.currentDirectoryURL = directory
        process.standardInput = input
        process.standardOutput = output
        process.standardError = try FileHandle(forWritingTo: log)
        lines = LineReader(descriptor: output.fileHandleForReading.fileDescriptor)
        do {
            try process.run()
        } catch {
            throw BenchmarkError("\(name): \(program) does not start: \(error.localizedDescription)")
        }
        ChildRegistry.add(self)
    }

    /// Waits for its end, and expects success. For programs that say little: their output has to fit into a pipe.
    func awaitSuccess() throws {
        process.waitUntilExit()
        ChildRegistry.remove(self)
        guard process.terminationReason == .exit, process.terminationStatus == 0 else { throw ended() }
    }

    /// The next line of its stdout.
    func line(within milliseconds: Int32) throws -> String {
        guard let line = lines.next(milliseconds: milliseconds) else {
            throw lines.isAtEnd ? ended() : BenchmarkError("\(name) said nothing for \(milliseconds) ms")
        }
        return line
    }

    /// Reads its stdout up to a line that contains `words`.
    func awaitLine(containing words: String, within milliseconds: Int32) throws {
        while try !line(within: milliseconds).contains(words) {}
    }

    /// Writes a line to its stdin.
    func tell(_ line: String) throws {
        do {
            try input.fileHandleForWriting.write(contentsOf: Data("\(line)\n".utf8))
        } catch {
            throw BenchmarkError("\(name) does not listen: \(error.localizedDescription)")
        }
    }

    /// Stops it from running, or lets it go on. The kernel carries it out before it returns.
    func pause() throws {
        try signal(SIGSTOP)
    }

    func resume() throws {
        try signal(SIGCONT)
    }

    private func signal(_ number: Int32) throws {
        guard process.isRunning, kill(identifier, number) == 0 else { throw ended() }
    }

    /// Says how it ended, which it has or is about to.
    private func ended() -> BenchmarkError {
        process.waitUntilExit()
        let reason = process.terminationReason == .exit ? "status" : "signal"
        return BenchmarkError("\(name) ended with \(reason) \(process.terminationStatus)")
    }

    /// CPU time of all its threads since it started, user and system, in microseconds.
    func cpuMicroseconds() throws -> Double {
        var clock = clockid_t()
        var time = timespec()
        guard clock_getcpuclockid(identifier, &clock) == 0, clock_gettime(clock, &time) == 0 else {
            throw ended()
        }
        return Double(time.tv_sec) * 1e6 + Double(time.tv_nsec) / 1e3
    }

    /// The largest resident set it ever had, in MiB.
    func residentPeakMiB() throws -> Double {
        let status = try String(contentsOfFile: "/proc/\(identifier)/status", encoding: .utf8)
        for line in status.split(separator: "\n") where line.hasPrefix("VmHWM:") {
            if let kibibytes = line.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap({ Double($0) }) {
                return kibibytes / 1024
            }
        }
        throw BenchmarkError("\(name): no VmHWM in its status")
    }
}
