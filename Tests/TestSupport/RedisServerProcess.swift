import Foundation
import Glibc
import Synchronization

/// A redis-server of the test's own, on a free port of the loopback interface, keeping nothing on disk.
///
/// It runs under `timeout`, so that a test process that crashes leaves no server behind for long.
public final class RedisServerProcess: Sendable {
    public struct Failure: Error, CustomStringConvertible {
        public var description: String
    }

    public let port: Int
    private let tls: RedisTLSFiles?
    private let processID: pid_t
    private let directory: String
    private let output: Int32
    /// Text that the server has printed so far.
    private let log: Mutex<String>

    /// Starts a server and returns when it is ready.
    ///
    /// - Parameters:
    ///   - port: nil picks a free one; after a kill, the old one makes it a restart.
    ///   - tls: for a server that is to be had over TLS only.
    public init(port: Int? = nil, arguments: [String] = [], tls: RedisTLSFiles? = nil) throws {
        self.tls = tls
        var problem = ""
        // A port that was free may be taken by the time the server binds it.
        for _ in 0..<5 {
            let candidate = try port ?? freePort()
            let directory = try makeDirectory()
            let (processID, output) = try spawn(
                port: candidate,
                directory: directory,
                arguments: arguments + (tls?.serverArguments(port: candidate) ?? [])
            )
            let log = read(output, until: "Ready to accept connections")
            if log.ready {
                self.port = candidate
                self.processID = processID
                self.directory = directory
                self.output = output
                self.log = Mutex(log.text)
                return
            }
            problem = log.text
            end(processID, output, directory)
        }
        throw Failure(description: "redis-server did not start: \(problem)")
    }

    deinit {
        end(processID, output, directory)
    }

    /// As `kill -9` does; the port refuses connections when this returns. Call it once.
    public func kill() {
        _ = Glibc.kill(-processID, SIGKILL)
        var status: Int32 = 0
        waitpid(processID, &status, 0)
        // `timeout` may be reaped before its child is gone; the end of the output says that it is.
        _ = read(output, until: nil)
    }

    /// Returns when the server has printed `text`, which it may have done before. Blocks.
    ///
    /// - Throws: `problem`, if the server ends before that.
    public func waitForLog(_ text: String, _ problem: @autoclosure () -> String) throws {
        let isThere = log.withLock { log in
            log.contains(text)
                || {
                    let more = read(output, until: text)
                    log += more.text
                    return more.ready
                }()
        }
        guard isThere else { throw Failure(description: problem()) }
    }

    /// The server neither reads nor answers until ``resume()``; connections to it stay.
    public func pause() {
        _ = Glibc.kill(-processID, SIGSTOP)
    }

    public func resume() {
        _ = Glibc.kill(-processID, SIGCONT)
    }

    /// Runs a command on this server with redis-cli; returns the printed text.
    public func command(_ words: String...) throws -> String {
        try command(words)
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
    let (processID, output) = try spawn(words)
    let text = read(output, until: nil).text
    var status: Int32 = 0
    waitpid(processID, &status, 0)
    close(output)
    return text
}

/// A port nobody listens on, below those that the system gives to connections and to listeners that ask for any: so it
/// is still free when a server that was killed is to come back to it.
///
/// - Parameter busDistance: that much above it a second one is free, too.
public func freePort(busDistance: Int = 0) throws -> Int {
    for _ in 0..<100 {
        let port = Int.random(in: 15_000..<(32_000 - busDistance))
        if isFree(port), isFree(port + busDistance) { return port }
    }
    throw RedisServerProcess.Failure(description: "no free port: errno \(errno)")
}

private func isFree(_ port: Int) -> Bool {
    let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    defer { close(socket) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(port).bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
            bind(socket, pointer, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
        }
    }
}

private func makeDirectory() throws -> String {
    let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
    var template = Array("\(parent)/belfry-redis-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else {
        throw RedisServerProcess.Failure(description: "no directory in \(parent): errno \(errno)")
    }
    return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
}

private func spawn(port: Int, directory: String, arguments: [String]) throws -> (pid_t, output: Int32) {
    try spawn(
        ["redis-server", "--bind", "127.0.0.1", "--port", "\(port)"]
            + ["--save", "", "--appendonly", "no", "--dir", directory] + arguments
    )
}

private func spawn(_ program: [String]) throws -> (pid_t, output: Int32) {
    let words = ["timeout", "--signal=KILL", "300"] + program
    // Not a pipe: its ends could not be kept from servers that other tests start at the same time.
    var pipe: [Int32] = [0, 0]
    let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
    guard socketpair(AF_UNIX, type, 0, &pipe) == 0 else {
        throw RedisServerProcess.Failure(description: "socketpair: errno \(errno)")
    }
    defer { close(pipe[1]) }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, pipe[1], 1)
    posix_spawn_file_actions_adddup2(&actions, pipe[1], 2)
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    // A group of its own, so that one signal reaches `timeout` and the server.
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP))
    var pointers = words.map { strdup($0) } + [nil]
    defer { for pointer in pointers { free(pointer) } }
    var processID: pid_t = 0
    let result = posix_spawnp(&processID, "timeout", &actions, &attributes, &pointers, environ)
    guard result == 0 else {
        close(pipe[0])
        throw RedisServerProcess.Failure(description: "cannot start \(program[0]): errno \(result)")
    }
    return (processID, pipe[0])
}

/// Reads until `marker`, or to the end. Blocks.
private func read(_ descriptor: Int32, until marker: String?) -> (ready: Bool, text: String) {
    var text = ""
    var chunk = [UInt8](repeating: 0, count: 4096)
    while true {
        let count = Glibc.read(descriptor, &chunk, chunk.count)
        if count < 0, errno == EINTR { continue }
        if count <= 0 { return (false, text) }
        text += String(decoding: chunk[..<count], as: UTF8.self)
        if let marker, text.contains(marker) { return (true, text) }
    }
}

/// Ends the server, if it has not been killed already, and removes what it leaves behind.
private func end(_ processID: pid_t, _ output: Int32, _ directory: String) {
    var status: Int32 = 0
    if waitpid(processID, &status, WNOHANG) == 0 {
        _ = kill(-processID, SIGKILL)
        waitpid(processID, &status, 0)
    }
    close(output)
    // A server of a cluster leaves its view of it, one with an append-only file that.
    try? FileManager.default.removeItem(atPath: directory)
}
