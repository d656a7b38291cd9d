import Foundation
import Glibc
import Synchronization

/// A program started by this one: its output lines can be awaited, its diagnostics go to a file.
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
        let words = try Ends(for: name)
        defer { close(words.theirs) }
        var orders: Ends?
        do {
            if takesInput { orders = try Ends(for: name) }
            defer { if let orders { close(orders.theirs) } }
            processIdentifier = try Self.spawn(
                executable,
                arguments,
                ProcessInfo.processInfo.environment.merging(environment) { $1 },
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
        let output = output
        let reading = words.ours
        Thread.detachNewThread { ChildProcess.read(reading, into: output) }
    }

    deinit { closeInput() }

    /// Both ends of a connection between this process and a child.
    ///
    /// Not a pipe: its ends could not be kept from programs that other threads start at the same time, and one that
    /// inherited the writing end would keep it open.
    private struct Ends {
        let ours: Int32
        let theirs: Int32

        init(for name: String) throws {
            var ends: [Int32] = [-1, -1]
            let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
            guard socketpair(AF_UNIX, type, 0, &ends) == 0 else {
                throw Failure(description: "\(name): no socket pair: errno \(errno)")
            }
            (ours, theirs) = (ends[0], ends[1])
        }
    }

    /// Takes what the program says until everyone who can say something has ended.
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

    /// Only the three standard descriptors reach the child.
    private static func spawn(
        _ executable: String,
        _ arguments: [String],
        _ environment: [String: String],
        input: Int32?,
        output: Int32,
        errors: Int32,
        leadsGroup: Bool
    ) throws -> Int32 {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        if let input {
            posix_spawn_file_actions_adddup2(&actions, input, 0)
        } else {
            posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        }
        posix_spawn_file_actions_adddup2(&actions, output, 1)
        posix_spawn_file_actions_adddup2(&actions, errors, 2)
        // Threads of the concurrency pool block signals, and a child inherits that: it would never hear a SIGTERM.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        let flags = leadsGroup ? POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP : POSIX_SPAWN_SETSIGMASK
        posix_spawnattr_setflags(&attributes, Int16(flags))
        var words: [UnsafeMutablePointer<CChar>?] = ([executable] + arguments).map { strdup($0) } + [nil]
        var variables: [UnsafeMutablePointer<CChar>?] = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for word in words + variables { free(word) } }
        var identifier: pid_t = 0
        let result = posix_spawn(&identifier, executable, &actions, &attributes, &words, &variables)
        guard result == 0 else { throw Failure(description: String(cString: strerror(result))) }
        return identifier
    }

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

    /// Everything on its standard output that was not taken, once it and all who inherited that have ended. Blocks.
    @discardableResult
    public func outputToEnd() -> String {
        output.rest()
    }

    /// Writes a line to its standard input; throws if it does not listen, or never did.
    public func tell(_ line: String) throws {
        let bytes = Array("\(line)\n".utf8)
        let isTold = input.withLock { descriptor in
            var sent = 0
            while sent < bytes.count {
                // An error instead of the signal that ends whoever writes to nobody.
                let count = bytes[sent...].withUnsafeBytes {
                    send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return false }
                sent += count
            }
            return true
        }
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
        if isRunning { Glibc.kill(leadsGroup ? -processIdentifier : processIdentifier, number) }
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
