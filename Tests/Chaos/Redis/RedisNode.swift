import Glibc
import Synchronization
import TestSupport

/// A redis-server of the run's own, or a sentinel. It keeps its data while it is stopped or dead. Its methods block.
final class RedisNode: RedisCommandLine {
    let port: Int
    private let directory: String
    private let arguments: [String]
    private let file: String?
    private let process = Mutex<ChildProcess?>(nil)

    /// Arguments that make a server as durable as the roles demand.
    static let durable = ["--save", "", "--appendonly", "yes", "--maxmemory-policy", "noeviction"]

    /// Longest time of one command.
    private static let commandSeconds = 10

    /// - Parameters:
    ///   - directory: of its own, for its data and its log; exists.
    ///   - arguments: beside those for port, directory and log.
    ///   - file: its configuration, which it may write itself; exists. Nil: it has none.
    init(port: Int, directory: String, arguments: [String], file: String? = nil) {
        self.port = port
        self.directory = directory
        self.arguments = arguments
        self.file = file
    }

    /// Starts it, again with the data it had; does not wait until it answers.
    func start() throws {
        let server = try ChildProcess(
            "redis-\(port)",
            executable: "/usr/bin/env",
            arguments: ["redis-server"] + [file].compactMap(\.self)
                + [
                    "--bind", "127.0.0.1", "--port", "\(port)", "--dir", directory,
                    "--logfile", "\(directory)/redis.log",
                ] + arguments
        )
        process.withLock { $0 = server }
    }

    /// SIGTERM; does not wait.
    func askToStop() {
        running?.signal(SIGTERM)
    }

    /// Stops it in order, if it runs.
    func stop() {
        take()?.terminate()
    }

    /// `kill -9`, if it runs.
    func kill() {
        take()?.kill()
    }

    /// It neither reads nor answers until ``resume()``; connections to it stay.
    func pause() {
        running?.signal(SIGSTOP)
    }

    func resume() {
        running?.signal(SIGCONT)
    }

    func command(_ words: [String]) throws -> String {
        try Self.redisCLI(["-p", "\(port)"] + words)
    }

    /// It answers the command with something that contains the text.
    func says(_ text: String, _ words: String...) -> Bool {
        (try? command(words))?.contains(text) ?? false
    }

    /// Runs redis-cli; returns the text of both its streams.
    static func redisCLI(_ words: [String], within seconds: Int = commandSeconds) throws -> String {
        let program = try ChildProcess(
            "redis-cli",
            executable: "/usr/bin/env",
            arguments: ["timeout", "--signal=KILL", "\(seconds)", "redis-cli"] + words,
            joinsErrors: true,
            leadsGroup: true
        )
        let text = program.outputToEnd()
        _ = program.wait()
        return text
    }

    private var running: ChildProcess? { process.withLock { $0 } }

    private func take() -> ChildProcess? {
        process.withLock { process in
            defer { process = nil }
            return process
        }
    }
}
