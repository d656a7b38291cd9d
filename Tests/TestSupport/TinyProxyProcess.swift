import Foundation
import Workbench

/// A tinyproxy of the test's own, on a free port of the loopback interface: a proxy that is not ours.
///
/// It runs under `timeout`, so that a test process that crashes leaves none behind for long.
public final class TinyProxyProcess: Sendable {
    public let port: Int
    private let process: ChildProcess
    private let directory: TemporaryDirectory

    /// Starts it and returns when it takes connections.
    ///
    /// - Parameters:
    ///   - login: user and password that it wants; nil: none.
    ///   - ports: those to which it connects; empty: all.
    public init(login: (user: String, password: String)? = nil, ports: [Int] = []) throws {
        let directory = TemporaryDirectory()
        self.directory = directory
        var problem = ""
        // A port that was free may be taken by the time the server binds it.
        for _ in 0..<5 {
            let candidate = try freePort()
            var lines = ["Port \(candidate)", "Listen 127.0.0.1", "Allow 127.0.0.1", "LogLevel Info"]
            if let login { lines.append("BasicAuth \(login.user) \(login.password)") }
            lines += ports.map { "ConnectPort \($0)" }
            let file = "\(directory.path)/tinyproxy.conf"
            try (lines.joined(separator: "\n") + "\n").write(toFile: file, atomically: true, encoding: .utf8)
            let process = try ChildProcess(
                "tinyproxy",
                executable: "/usr/bin/env",
                arguments: ["timeout", "--signal=KILL", "300", "tinyproxy", "-d", "-c", file],
                joinsErrors: true,
                leadsGroup: true
            )
            problem = ""
            while let line = try? process.nextLine(within: .seconds(60)) {
                problem += line + "\n"
                guard !line.contains("Accepting connections") else {
                    port = candidate
                    self.process = process
                    return
                }
            }
            process.kill()
        }
        throw ChildProcess.Failure(description: "tinyproxy did not start: \(problem)")
    }

    deinit { process.kill() }

    /// Returns when it has said a line with these words. Blocks.
    public func waitForLine(with words: String) throws {
        while try !process.nextLine(within: .seconds(60)).contains(words) {}
    }
}
