import Foundation
import Glibc
import LocalPipeline
import TestSupport
import Testing
import Workbench

extension IntegrationTests {
    /// Processes whose standard error is full, and is not read.
    struct StalledErrorTests {
        /// A named pipe that takes no byte more.
        private final class FullPipe {
            let path = NSTemporaryDirectory() + "belfry-full-\(UUID().uuidString)"
            private let descriptor: Int32

            init() throws {
                // Open for reading, too: a process that opens it for writing does not wait.
                let isMade = mkfifo(path, 0o600) == 0
                descriptor = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
                guard isMade, descriptor >= 0 else {
                    throw ChildProcess.Failure(description: "no pipe: errno \(errno)")
                }
                let bytes = [UInt8](repeating: 10, count: 4096)
                while write(descriptor, bytes, bytes.count) > 0 {}
            }

            deinit {
                close(descriptor)
                unlink(path)
            }
        }

        @Test("A command that fails ends with its exit code though its reason is not read")
        func failure() throws {
            let pipe = try FullPipe()
            let role = try ChildProcess(
                "registrar",
                executable: try belfryExecutable(),
                arguments: ["registrar", "--config", "/nowhere/belfry.yaml"],
                logFile: pipe.path
            )
            defer { role.kill() }
            #expect(try role.wait(within: patience) == 78)
            withExtendedLifetime(pipe) {}
        }

        @Test("A role ends at a second signal though its log is not read")
        func secondSignal() throws {
            let pipe = try FullPipe()
            let silence = try SilentListener()
            let redis = try RedisServerProcess()
            let configuration = NSTemporaryDirectory() + "belfry-\(UUID().uuidString).yaml"
            try "environments: {sandbox: {gateways: [127.0.0.1:1]}}\n"
                .write(toFile: configuration, atomically: true, encoding: .utf8)
            defer { try? FileManager.default.removeItem(atPath: configuration) }
            let role = try ChildProcess(
                "registrar",
                executable: try belfryExecutable(),
                arguments: ["registrar", "--config", configuration],
                environment: [
                    // It waits for brokers that never say a word.
                    "BELFRY_KAFKA_BROKERS": "127.0.0.1:\(silence.port)", "BELFRY_REDIS_URL": redis.url(),
                    "BELFRY_REDIS_DURABILITY": "warn",
                ],
                logFile: pipe.path
            )
            defer { role.kill() }
            // Until it waits for signals the first one ends it.
            for signal in [SIGTERM, SIGINT] { try waitUntilCaught(signal, by: role) }
            // The very first signals may be lost while Dispatch takes them over from the thread that got them. So they
            // come again, as from an operator who is not heard.
            var code: Int32?
            let deadline = ContinuousClock.now + patience
            while code == nil, ContinuousClock.now < deadline {
                // Both are there when it goes on, whichever it looks at first.
                for signal in [SIGSTOP, SIGTERM, SIGINT, SIGCONT] { role.signal(signal) }
                code = try? role.wait(within: .seconds(2))
            }
            #expect(code == 1)
            withExtendedLifetime((pipe, silence)) {}
        }

        /// Looks at the signals that a process ignores, as one that leaves them to Dispatch does.
        private func waitUntilCaught(_ signal: Int32, by role: ChildProcess) throws {
            let deadline = ContinuousClock.now + patience
            while true {
                let status = try String(contentsOfFile: "/proc/\(role.processIdentifier)/status", encoding: .utf8)
                let masks = status.split(separator: "\n").filter { $0.hasPrefix("SigIgn:") || $0.hasPrefix("SigCgt:") }
                let isCaught = masks.contains { mask in
                    let digits = mask.split(separator: "\t").last.flatMap { UInt64($0, radix: 16) } ?? 0
                    return digits & (1 << UInt64(signal - 1)) != 0
                }
                if isCaught { return }
                guard role.isRunning, ContinuousClock.now < deadline else {
                    throw ChildProcess.Failure(description: "the role does not wait for signals")
                }
            }
        }
    }
}
