import Foundation
import Glibc
import Synchronization

/// A program started by this one: its output lines can be awaited, its diagnostics go to a file.
public final class ChildProcess: Sendable {
    /// A program that did not do what was expected of it.
    public struct Failure: Error, CustomStringConvertible {
        public let description: String
    }

    public let name: String
    public let logFile: String
    public let processIdentifier: Int32
    private let output = Output()
    private let ending = Mutex(Ending())
    /// Signals reach its children too.
    private let leadsGroup: Bool

    /// A process can be waited for only once.
    private struct Ending {
        var status: Int32?
    }

    /// Lines of standard output, filled by the reading thread.
    private final class Output: Sendable {
        private struct State {
            var bytes: [UInt8] = []
            /// Before this everything was taken.
            var start = 0
            var isAtEnd = false
        }

        private let state = Mutex(State())
        private let signal = DispatchSemaphore(value: 0)

        func append(_ data: Data) {
            state.withLock {
                if data.isEmpty { $0.isAtEnd = true } else { $0.bytes += data }
            }
            signal.signal()
        }

        /// The next line without its end; nil at the end of the output or at the deadline.
        func nextLine(deadline: DispatchTime) -> String? {
            while true {
                let (line, isAtEnd) = state.withLock { state -> (String?, Bool) in
                    guard let end = state.bytes[state.start...].firstIndex(of: UInt8(ascii: "\n")) else {
                        state.bytes.removeFirst(state.start)
                        state.start = 0
                        return (nil, state.isAtEnd)
                    }
                    let line = String(decoding: state.bytes[state.start..<end], as: UTF8.self)
                    state.start = end + 1
                    return (line, false)
                }
                if line != nil || isAtEnd { return line }
                if signal.wait(timeout: deadline) == .timedOut { return nil }
            }
        }
    }

    /// Starts `executable`.
    ///
    /// - Parameters:
    ///   - environment: added to this process's own.
    ///   - logFile: gets standard error.
    ///   - leadsGroup: it gets a process group of its own, and signals go to all of it: for a program that starts
    ///     others.
    public init(
        _ name: String,
        executable: String,
        arguments: [String],
        environment: [String: String] = [:],
        logFile: String,
        leadsGroup: Bool = false
    ) throws {
        self.name = name
        self.leadsGroup = leadsGroup
        self.logFile = logFile
        let log = open(logFile, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard log >= 0 else { throw Failure(description: "\(name): its log file \(logFile) cannot be written") }
        defer { close(log) }
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0, ends.allSatisfy({ fcntl($0, F_SETFD, FD_CLOEXEC) == 0 }) else {
            throw Failure(description: "\(name): no pipe: errno \(errno)")
        }
        defer { close(ends[1]) }
        do {
            processIdentifier = try Self.spawn(
                executable,
                arguments,
                ProcessInfo.processInfo.environment.merging(environment) { $1 },
                output: ends[1],
                errors: log,
                leadsGroup: leadsGroup
            )
        } catch {
            close(ends[0])
            throw Failure(description: "\(name): \(executable) cannot be started: \(error)")
        }
        let reading = FileHandle(fileDescriptor: ends[0], closeOnDealloc: true)
        let output = output
        Thread.detachNewThread {
            while true {
                let data = reading.availableData
                output.append(data)
                if data.isEmpty { return }
            }
        }
    }

    /// Only the three standard descriptors reach the child: one that inherited another's pipe would keep it open.
    private static func spawn(
        _ executable: String,
        _ arguments: [String],
        _ environment: [String: String],
        output: Int32,
        errors: Int32,
        leadsGroup: Bool
    ) throws -> Int32 {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
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
        collect(WNOHANG) == nil
    }

    /// The exit code once the process has ended; 128 and the signal's number if one ended it.
    private func collect(_ options: Int32) -> Int32? {
        ending.withLock { ending in
            if let status = ending.status { return status }
            var status: Int32 = 0
            var result = waitpid(processIdentifier, &status, options)
            while result < 0, errno == EINTR { result = waitpid(processIdentifier, &status, options) }
            guard result == processIdentifier else { return nil }
            let signal = status & 0x7F
            ending.status = signal == 0 ? (status >> 8) & 0xFF : 128 + signal
            return ending.status
        }
    }

    /// The next line of standard output; throws if the program ends or the time is over before.
    public func nextLine(within limit: Duration) throws -> String {
        let nanoseconds = limit / .nanoseconds(1)
        guard let line = output.nextLine(deadline: .now() + .nanoseconds(Int(nanoseconds))) else {
            throw Failure(description: "\(name): no line on its standard output within \(limit); see \(logFile)")
        }
        return line
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
        collect(0) ?? -1
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
