import Foundation
import Glibc
import Synchronization
import Workbench

/// A redis-server of the test's own, on a free port of the loopback interface, keeping nothing on disk.
///
/// It runs under `timeout`, so that a test process that crashes leaves no server behind for long.
public final class RedisServerProcess: RedisCommandLine {
    public struct Failure: Error, CustomStringConvertible {
        public var description: String
    }

    public let port: Int
    private let tls: RedisTLSFiles?
    private let process: ChildProcess
    private let directory: String
    /// Text that the server has printed so far.
    private let log: Mutex<String>

    /// Starts a server and returns when it is ready.
    ///
    /// - Parameters:
    ///   - port: nil picks a free one; after a kill, the old one makes it a restart.
    ///   - tls: for a server that is to be had over TLS only.
    public convenience init(port: Int? = nil, arguments: [String] = [], tls: RedisTLSFiles? = nil) throws {
        try self.init(port: port, tls: tls, until: "Ready to accept connections") { _ in
            ["--save", "", "--appendonly", "no"] + arguments
        }
    }

    /// Starts a sentinel and returns when it runs.
    ///
    /// - Parameters:
    ///   - settings: lines of its file, in which it keeps what it learns.
    ///   - tls: for a sentinel that is to be had over TLS only, and speaks it with servers and other sentinels.
    public convenience init(sentinel settings: [String], tls: RedisTLSFiles? = nil) throws {
        try self.init(port: nil, tls: tls, until: "+monitor master") { directory in
            let file = "\(directory)/sentinel.conf"
            try settings.joined(separator: "\n").write(toFile: file, atomically: false, encoding: .utf8)
            return [file, "--sentinel"]
        }
    }

    /// - Parameters:
    ///   - marker: in the line that says that it is ready.
    ///   - words: behind the program's name, for a directory of its own.
    private init(
        port: Int?,
        tls: RedisTLSFiles?,
        until marker: String,
        _ words: (_ directory: String) throws -> [String]
    ) throws {
        self.tls = tls
        var problem = ""
        // A port that was free may be taken by the time the server binds it.
        for _ in 0..<5 {
            let candidate = try port ?? freePort()
            let directory = try makeDirectory()
            let process = try start(
                ["redis-server"] + words(directory)
                    + ["--bind", "127.0.0.1", "--port", "\(candidate)", "--dir", directory]
                    + (tls?.serverArguments(port: candidate) ?? [])
            )
            let log = read(process, until: marker)
            if log.ready {
                self.port = candidate
                self.process = process
                self.directory = directory
                self.log = Mutex(log.text)
                return
            }
            problem = log.text
            end(process, directory)
        }
        throw Failure(description: "redis-server did not start: \(problem)")
    }

    deinit {
        end(process, directory)
    }

    /// As `kill -9` does; the port refuses connections when this returns. Call it once.
    public func kill() {
        process.kill()
        // `timeout` may be reaped before its child is gone; the end of the output says that it is.
        process.outputToEnd()
    }

    /// Returns when the server has printed `text`, which it may have done before. Blocks.
    ///
    /// - Throws: `problem`, if the server ends before that.
    public func waitForLog(_ text: String, _ problem: @autoclosure () -> String) throws {
        let isThere = log.withLock { log in
            log.contains(text)
                || {
                    let more = read(process, until: text)
                    log += more.text
                    return more.ready
                }()
        }
        guard isThere else { throw Failure(description: problem()) }
    }

    /// The server neither reads nor answers until ``resume()``; connections to it stay.
    public func pause() {
        process.signal(SIGSTOP)
    }

    public func resume() {
        process.signal(SIGCONT)
    }

    public func command(_ words: [String]) throws -> String {
        try printed(by: ["redis-cli", "-p", "\(port)"] + (tls?.clientArguments ?? []) + words)
    }

    /// - Parameter credentials: `user:password`.
    public func url(credentials: String? = nil) -> String {
        "\(tls == nil ? "redis" : "rediss")://\(credentials.map { $0 + "@" } ?? "")127.0.0.1:\(port)"
    }
}

/// Runs a program to its end; returns the text of both its streams. Blocks.
func printed(by words: [String]) throws -> String {
    let process = try start(words)
    let text = process.outputToEnd()
    _ = process.wait()
    return text
}

private let lifetimeSeconds = 300

/// Starts a program that is killed after ``lifetimeSeconds``.
///
/// It leads a group, so that one signal reaches `timeout` and the program.
private func start(_ words: [String]) throws -> ChildProcess {
    try ChildProcess(
        words.first ?? "",
        executable: "/usr/bin/env",
        arguments: ["timeout", "--signal=KILL", "\(lifetimeSeconds)"] + words,
        joinsErrors: true,
        leadsGroup: true
    )
}

private func makeDirectory() throws -> String {
    let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
    var template = Array("\(parent)/belfry-redis-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else {
        throw RedisServerProcess.Failure(description: "no directory in \(parent): errno \(errno)")
    }
    return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
}

/// Reads lines until one has `marker`, or to the end. Blocks.
private func read(_ process: ChildProcess, until marker: String) -> (ready: Bool, text: String) {
    var text = ""
    while let line = try? process.nextLine(within: .seconds(lifetimeSeconds)) {
        text += "\(line)\n"
        if line.contains(marker) { return (true, text) }
    }
    return (false, text)
}

/// Ends the server, if it has not been killed already, and removes what it leaves behind.
private func end(_ process: ChildProcess, _ directory: String) {
    process.kill()
    // A server of a cluster leaves its view of it, one with an append-only file that.
    try? FileManager.default.removeItem(atPath: directory)
}
