import Foundation
import Glibc
import Testing
import Workbench

extension IntegrationTests {
    /// Programs that are killed, and the processes that they started.
    struct AbandonedProcessTests {
        /// The processes that one has started and that run.
        private static func children(of process: Int32) -> Set<Int32> {
            let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/task")) ?? []
            let lists = threads.compactMap {
                try? String(contentsOfFile: "/proc/\(process)/task/\($0)/children", encoding: .utf8)
            }
            return Set(lists.joined(separator: " ").split(separator: " ").compactMap { Int32($0) })
        }

        /// A process that has ended and whose parent has not waited for it does not run.
        private static func isRunning(_ process: Int32) -> Bool {
            guard let stat = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8) else { return false }
            // The state follows the name, which is in brackets.
            return stat.split(separator: ")").last?.split(separator: " ").first != "Z"
        }

        private static func wait(for what: String, until condition: () -> Bool) throws {
            let deadline = ContinuousClock.now + patience
            while !condition() {
                guard ContinuousClock.now < deadline else {
                    throw ChildProcess.Failure(description: "waited \(patience) for \(what)")
                }
                // Nothing tells of processes that are not our children.
                poll(nil, 0, 5)
            }
        }

        @Test("A program that is killed leaves none of the processes that it started")
        func killed() throws {
            let demo = try ChildProcess(
                "demo",
                executable: try belfryExecutable(),
                arguments: ["demo", "--notifications", "1000000"]
            )
            defer {
                demo.kill()
                let directory = NSTemporaryDirectory() + "belfry-demo-\(demo.processIdentifier)"
                try? FileManager.default.removeItem(atPath: directory)
            }
            var started: Set<Int32> = []
            // Broker, Redis, sandbox, a worker, and the one that ends them.
            try Self.wait(for: "the processes of a demo") {
                started = Self.children(of: demo.processIdentifier)
                return started.count >= 5
            }
            demo.kill()
            try Self.wait(for: "their end") { !started.contains(where: Self.isRunning) }
            #expect(demo.wait() == 128 + SIGKILL)
        }
    }
}
