import Glibc
import Testing

@testable import Workbench

/// Programs whose starter has gone without ending them.
@Suite struct ChildKeeperTests {
    private static let patience = Duration.seconds(60)

    private func start(_ script: String, keptBy keeper: ChildKeeper) throws -> ChildProcess {
        try ChildProcess(
            "child",
            executable: "/bin/sh",
            arguments: ["-c", script],
            environment: [ChildKeeper.variable: keeper.mark]
        )
    }

    @Test("When the process that started programs is gone, those that it left are killed, with those that they started")
    func left() throws {
        let keeper = try ChildKeeper()
        let alone = try start("exec sleep 1000", keptBy: keeper)
        // Its own child is in no process group that could be killed with it.
        let parent = try start("setsid sleep 1000 & echo started; wait", keptBy: keeper)
        #expect(try parent.nextLine(within: Self.patience) == "started")
        keeper.leave()
        #expect(try alone.wait(within: Self.patience) == 128 + SIGKILL)
        #expect(try parent.wait(within: Self.patience) == 128 + SIGKILL)
        // Ends when the last one of them has ended.
        parent.outputToEnd()
    }

    @Test("Those that have no mark are killed by their numbers, a group with all its members, unless they have ended")
    func numbers() throws {
        let keeper = try ChildKeeper()
        let unmarked = ["-u", ChildKeeper.variable, "/bin/sh", "-c"]
        func start(_ script: String, leadsGroup: Bool = false) throws -> ChildProcess {
            try ChildProcess(
                "child",
                executable: "/usr/bin/env",
                arguments: unmarked + [script],
                leadsGroup: leadsGroup
            )
        }
        let (alone, ended) = (try start("exec sleep 1000"), try start("exec sleep 1000"))
        let leader = try start("sleep 1000 & echo started; wait", leadsGroup: true)
        defer { ended.kill() }
        #expect(try leader.nextLine(within: Self.patience) == "started")
        for target in [ended.processIdentifier, alone.processIdentifier, -leader.processIdentifier] {
            keeper.add(target)
        }
        keeper.remove(ended.processIdentifier)
        keeper.leave()
        // They are killed in the order in which they came.
        #expect(try alone.wait(within: Self.patience) == 128 + SIGKILL)
        #expect(try leader.wait(within: Self.patience) == 128 + SIGKILL)
        leader.outputToEnd()
        #expect(ended.isRunning)
    }

    @Test("Programs of processes that still run are left alone")
    func others() throws {
        let (keeper, other) = (try ChildKeeper(), try ChildKeeper())
        let child = try start("exec sleep 1000", keptBy: keeper)
        let stranger = try start("exec sleep 1000", keptBy: other)
        defer { stranger.kill() }
        keeper.leave()
        #expect(try child.wait(within: Self.patience) == 128 + SIGKILL)
        #expect(stranger.isRunning)
    }

    @Test("Every program has the mark of the process that started it, unless it is given another one")
    func mark() throws {
        let shared = try #require(ChildKeeper.shared)
        let child = try ChildProcess("child", executable: "/usr/bin/printenv", arguments: [ChildKeeper.variable])
        #expect(child.outputToEnd() == "\(shared.mark)\n")
        #expect(child.wait() == 0)
    }
}
