import Foundation
import Glibc
import Workbench

extension ChildProcess {
    /// Waits for its end, and expects success.
    func awaitSuccess() throws {
        let code = wait()
        ChildRegistry.remove(self)
        guard code == 0 else { throw ended() }
    }

    /// The next line of its stdout.
    func line(within milliseconds: Int32) throws -> String {
        do {
            return try nextLine(within: .milliseconds(milliseconds))
        } catch {
            throw isRunning ? BenchmarkError("\(name) said nothing for \(milliseconds) ms") : ended()
        }
    }

    /// Reads its stdout up to a line that contains `words`.
    func awaitLine(containing words: String, within milliseconds: Int32) throws {
        while try !line(within: milliseconds).contains(words) {}
    }

    /// Writes a line to its stdin.
    func order(_ line: String) throws {
        do {
            try tell(line)
        } catch {
            throw BenchmarkError("\(error)")
        }
    }

    /// Stops it from running, or lets it go on. The kernel carries it out before it returns.
    func pause() throws {
        try command(SIGSTOP)
    }

    func resume() throws {
        try command(SIGCONT)
    }

    private func command(_ number: Int32) throws {
        guard isRunning else { throw ended() }
        signal(number)
    }

    /// Says how it ended, which it has or is about to.
    private func ended() -> BenchmarkError {
        let code = wait()
        // As a shell counts.
        return BenchmarkError("\(name) ended with \(code < 128 ? "status \(code)" : "signal \(code - 128)")")
    }

    /// CPU time of all its threads since it started, user and system, in microseconds.
    func cpuMicroseconds() throws -> Double {
        var clock = clockid_t()
        var time = timespec()
        guard clock_getcpuclockid(processIdentifier, &clock) == 0, clock_gettime(clock, &time) == 0 else {
            throw ended()
        }
        return Double(time.tv_sec) * 1e6 + Double(time.tv_nsec) / 1e3
    }

    /// The largest resident set it ever had, in MiB.
    func residentPeakMiB() throws -> Double {
        let status = try String(contentsOfFile: "/proc/\(processIdentifier)/status", encoding: .utf8)
        for line in status.split(separator: "\n") where line.hasPrefix("VmHWM:") {
            if let kibibytes = line.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap({ Double($0) }) {
                return kibibytes / 1024
            }
        }
        throw BenchmarkError("\(name): no VmHWM in its status")
    }
}
