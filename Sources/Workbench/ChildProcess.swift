import Foundation
import Glibc
import Synchronization

/// A program started by this one: its output lines can be awaited, its diagnostics go to a file. It is killed should
/// this one end without having ended it.
public final class ChildProcess: Sendable {
    /// A program that did not do what was expected of it.
    public struct Failure: Error, CustomStringConvertible {
        public let description: String

        public init(description: String) {
            self.description = description
        }
    }

    public let name: String
    public let logFile: String
    public let processIdentifier: Int32
    private let output = OutputLines()
    /// Our end of the program's standard input; −1: it has none, or that is closed.
    private let input: Mutex<Int32>
    private let ending = Mutex(Ending())
    /// Signals reach its children too.
    private let leadsGroup: Bool

    /// A process can be waited for only once.
    private struct Ending {
        var status: Int32?
    }

    /// Starts `executable`.
    ///
    /// - Parameters:
    ///   - environment: added to this process's own.
    ///   - logFile: gets standard error.
    ///   - joinsErrors: standard error goes among the output instead.
    ///   - leadsGroup: it gets a process group of its own, and signals go to all of it: for a program that starts
    ///     others.
    ///   - takesInput: ``tell(_:)`` writes to its standard input, which ends with this process, however that ends.
    public init(
        _ name: String,
        executable: String,
        arguments: [String],
        environment: [String: String] = [:],
        logFile: String = "/dev/null",
        joinsErrors: Bool = false,
        leadsGroup: Bool = false,
        takesInput: Bool = false
    ) throws {
        self.name = name
        self.leadsGroup = leadsGroup
        self.logFile = logFile
        let log = open(logFile, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard log >= 0 else { throw Failure(description: "\(name): its log file \(logFile) cannot be written") }
        defer { close(log) }
        let words = try ChildSocket(for: name)
        defer { close(words.theirs) }
        var orders: ChildSocket?
        // It is killed with all that it starts, should this process not live to end it.
        let mark = ChildKeeper.shared.map { [ChildKeeper.variable: $0.mark] } ?? [:]
        do {
            if takesInput { orders = try ChildSocket(for: name) }
            defer { if let orders { close(orders.theirs) } }
            processIdentifier = try spawn(
                executable,
                arguments,
                ProcessInfo.processInfo.environment.merging(mark) { $1 }.merging(environment) { $1 },
                input: orders?.theirs,
                output: words.theirs,
                errors: joinsErrors ? words.theirs : log,
                leadsGroup: leadsGroup
            )
        } catch {
            close(words.ours)
            if let orders { close(orders.ours) }
            throw Failure(description: "\(name): \(executable) cannot be started: \(error)")
        }
        input = Mutex(orders?.ours ?? -1)
        ChildKeeper.shared?.add(target)
        let output = output
        let reading = words.ours
        Thread.detachNewThread { ChildProcess.read(reading, into: output) }
    }

    deinit { closeInput() }

    /// Takes the program's output until every process that can write to it has ended.
    private static func read(_ descriptor: Int32, into output: OutputLines) {
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = Glibc.read(descriptor, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            output.append(chunk[..<count])
        }
        close(descriptor)
        output.end()
    }

    /// The receiver of signals to it: the process, or its group.
    private var target: Int32 { leadsGroup ? -processIdentifier : processIdentifier }

    public var isRunning: Bool {
        collect() == nil
    }

    /// The exit code if the process has ended; 128 and the signal's number if one ended it.
    private func collect() -> Int32? {
        ending.withLock { ending in
            if let status = ending.status { return status }
            var status: Int32 = 0
            var result = waitpid(processIdentifier, &status, WNOHANG)
            while result < 0, errno == EINTR { result = waitpid(processIdentifier, &status, WNOHANG) }
            guard result == processIdentifier else { return nil }
            let signal = status & 0x7F
            ending.status = signal == 0 ? (status >> 8) & 0xFF : 128 + signal
            ChildKeeper.shared?.remove(target)
            return ending.status
        }
    }

    /// The next line of standard output; throws if the program ends or the time is over before.
    public func nextLine(within limit: Duration) throws -> String {
        guard let line = output.next(within: limit) else {
            throw Failure(description: "\(name): no line on its standard output within \(limit); see \(logFile)")
        }
        return line
    }

    /// Everything on its standard output that was not taken, once it and all processes that inherited it have ended.
    /// Blocks.
    @discardableResult
    public func outputToEnd() -> String {
        output.rest()
    }

    /// Writes a line to its standard input; throws if it does not listen, or never did.
    public func tell(_ line: String) throws {
        let isTold = input.withLock { ChildSocket.write(line, to: $0) }
        guard isTold else { throw Failure(description: "\(name) does not listen; see \(logFile)") }
    }

    /// Ends its standard input. Idempotent.
    public func closeInput() {
        input.withLock { descriptor in
            guard descriptor >= 0 else { return }
            close(descriptor)
            descriptor = -1
        }
    }

    /// Sends a signal, unless it has ended.
    public func signal(_ number: Int32) {
        if isRunning { Glibc.kill(target, number) }
    }

    /// Makes it stand still (SIGSTOP) until SIGCONT, and returns when all its threads do, or it has ended. Throws if
    /// that takes too long.
    public func standStill(within limit: Duration = .seconds(30)) throws {
        signal(SIGSTOP)
        try wait(for: "its standstill", within: limit) { standsStill || !isRunning }
    }

    /// All its threads are stopped. Those of a program that it started are not looked at.
    public var standsStill: Bool {
        let tasks = "/proc/\(processIdentifier)/task"
        guard let numbers = try? FileManager.default.contentsOfDirectory(atPath: tasks), !numbers.isEmpty else {
            return false
        }
        return numbers.allSatisfy { number in
            (try? String(contentsOfFile: "\(tasks)/\(number)/stat", encoding: .utf8)).map(ThreadState.isStopped) ?? true
        }
    }

    /// Time that a program has to stop before it is killed.
    private static let patience = Duration.seconds(60)

    /// Asks it to stop (SIGTERM) and waits for its end; one that does not stop is killed. Returns the exit code.
    @discardableResult
    public func terminate() -> Int32 {
        signal(SIGTERM)
        if let code = try? wait(within: Self.patience) { return code }
        kill()
        return wait()
    }

    /// Ends it at once (SIGKILL), as a crash would.
    public func kill() {
        signal(SIGKILL)
        _ = wait()
    }

    /// Waits for its end; returns the exit code.
    public func wait() -> Int32 {
        // Not under the lock: another thread may want to end it meanwhile.
        var information = siginfo_t()
        while waitid(P_PID, id_t(processIdentifier), &information, WEXITED | WNOWAIT) < 0, errno == EINTR {}
        return collect() ?? -1
    }

    /// Waits for its end; throws if the time is over before.
    public func wait(within limit: Duration) throws -> Int32 {
        try wait(for: "its end", within: limit) { !isRunning }
        return wait()
    }

    /// Waits until its diagnostics have a line that holds all of `texts`; returns the line. Throws if the program ends
    /// or the time is over before.
    @discardableResult
    public func waitForLogLine(with texts: String..., within limit: Duration) throws -> String {
        var found: Substring?
        try wait(for: "a line with \(texts) among its diagnostics", within: limit) {
            let hasEnded = !isRunning
            found = log.split(separator: "\n").first { line in texts.allSatisfy { line.contains($0) } }
            return found != nil || hasEnded
        }
        guard let found else {
            throw Failure(
                description: "\(name) ended without a line with \(texts) among its diagnostics; see \(logFile)"
            )
        }
        return String(found)
    }

    private func wait(for what: String, within limit: Duration, _ condition: () -> Bool) throws {
        let deadline = ContinuousClock.now + limit
        while !condition() {
            guard ContinuousClock.now < deadline else {
                throw Failure(description: "\(name): waited \(limit) for \(what); see \(logFile)")
            }
            usleep(5000)
        }
    }

    /// Its diagnostics so far.
    public var log: String {
        (try? String(contentsOfFile: logFile, encoding: .utf8)) ?? ""
    }
}
