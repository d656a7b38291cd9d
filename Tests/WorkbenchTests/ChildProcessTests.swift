import Foundation
import Glibc
import Testing

@testable import Workbench

@Suite("A child process")
struct ChildProcessTests {
    private static let patience = Duration.seconds(60)

    private func shell(_ script: String, takesInput: Bool = false) throws -> ChildProcess {
        try ChildProcess("sh", executable: "/bin/sh", arguments: ["-c", script], takesInput: takesInput)
    }

    @Test("Answers what it is told, line by line, until its input ends")
    func conversation() throws {
        let child = try shell("while read -r line; do echo \"heard $line\"; done; echo bye", takesInput: true)
        try child.tell("one")
        #expect(try child.nextLine(within: Self.patience) == "heard one")
        try child.tell("two")
        child.closeInput()
        #expect(child.outputToEnd() == "heard two\nbye\n")
        #expect(child.wait() == 0)
    }

    @Test("That does not listen is an error, not the end of this process")
    func deaf() throws {
        let ended = try shell("exit 3", takesInput: true)
        #expect(ended.wait() == 3)
        #expect(throws: ChildProcess.Failure.self) { try ended.tell("anyone there?") }
        let silent = try shell("exit 0")
        #expect(throws: ChildProcess.Failure.self) { try silent.tell("anyone there?") }
        #expect(silent.wait() == 0)
    }

    @Test("Ended by a signal says which")
    func signals() throws {
        let child = try shell("read -r _", takesInput: true)
        #expect(child.isRunning)
        child.kill()
        #expect(child.wait() == 128 + SIGKILL)
        #expect(!child.isRunning)
    }

    @Test("Stands still from the moment that it is seen to, until it may go on")
    func standstill() throws {
        let child = try ChildProcess(
            "sh",
            executable: "/bin/sh",
            arguments: ["-c", "while read -r line; do echo \"heard $line\"; done"],
            leadsGroup: true,
            takesInput: true
        )
        #expect(!child.standsStill)
        try child.standStill(within: Self.patience)
        #expect(child.standsStill && child.isRunning)
        try child.tell("one")
        #expect(child.standsStill)
        child.signal(SIGCONT)
        #expect(try child.nextLine(within: Self.patience) == "heard one")
        #expect(!child.standsStill)
        child.kill()
        // One that has ended is not waited for.
        try child.standStill(within: Self.patience)
        #expect(!child.standsStill)
    }

    @Test(
        "The state of a thread stands behind its name, whatever that is",
        arguments: [
            ("7 (sh) T 1 7 7 0", true), ("7 (a) S (b)) T 1", true), ("7 (T) S 1", false), ("7 (sh) t 1", false),
            ("", false),
        ]
    )
    func threadState(stat: String, isStopped: Bool) {
        #expect(ThreadState.isStopped(stat) == isStopped)
    }

    @Test("Can be ended while another thread waits for it")
    func endedMeanwhile() async throws {
        let child = try shell("read -r _", takesInput: true)
        let (codes, ended) = AsyncStream.makeStream(of: Int32.self)
        Thread.detachNewThread {
            ended.yield(child.wait())
            ended.finish()
        }
        child.kill()
        var code: Int32?
        for await end in codes { code = end }
        #expect(code == 128 + SIGKILL)
    }

    @Test("May say its errors among its output")
    func errors() throws {
        let child = try ChildProcess(
            "sh",
            executable: "/bin/sh",
            arguments: ["-c", "echo out; echo err >&2"],
            joinsErrors: true
        )
        #expect(child.outputToEnd() == "out\nerr\n")
        #expect(child.wait() == 0)
    }

    @Test("Takes what it started with it, if it leads a group")
    func group() throws {
        let child = try ChildProcess(
            "sh",
            executable: "/bin/sh",
            arguments: ["-c", "exec 3<&0; sh -c 'echo ready; read -r _ <&3' & echo started; wait"],
            leadsGroup: true,
            takesInput: true
        )
        let lines = [try child.nextLine(within: Self.patience), try child.nextLine(within: Self.patience)]
        #expect(Set(lines) == ["ready", "started"])
        child.kill()
        // The output ends with the last that could say something.
        #expect(child.outputToEnd().isEmpty)
    }
}
