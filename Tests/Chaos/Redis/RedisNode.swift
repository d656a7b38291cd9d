import Glibc
import Synchronization
import TestSupport

/// A redis-server of the run's own, as durable as the roles demand. It keeps its data while it is stopped or dead.
/// Its methods block.
final class RedisNode: RedisCommandLine {
    let port: Int
    private let directory: String
    private let arguments: [String]
    private let process = Mutex<ChildProcess?>(nil)

    /// Longest time of one command.
    private static let commandSeconds = 10

    /// - Parameters:
    ///   - directory: of its own, for its data and its log; exists.
    ///   - arguments: beside those that make it durable.
    init(port: Int, directory: String, arguments: [String]) {
        self.port = port
        self.directory = directory
        self.arguments = arguments
    }

    /// Starts it, again with the data it had; does not wait until it answers.
    func start() throws {
        let server = try ChildProcess(
            "redis-\(port)",
            executable: "/usr/bin/env",
            arguments: [
                "redis-server", "--bind", "127.0.0.1", "--port", "\(port)", "--dir", directory,
                "--logfile", "\(directory)/redis.log", "--save", "", "--appendonly", "yes",
                "--maxmemory-policy", "noeviction",
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
