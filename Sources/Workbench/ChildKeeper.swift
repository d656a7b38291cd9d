import Foundation
import Glibc
import Synchronization

/// Kills the programs that this one started and left, should it crash or be killed.
///
/// A shell reads from a connection which of them run. The connection ends with this process, however that ends: then
/// the shell kills those that are left, and the processes that have the mark in their environment that children, and
/// theirs, inherit. Some programs, such as Redis, write over their environment. The kernel's signal to orphans
/// (PR_SET_PDEATHSIG) would not do: it comes when the thread ends that started the program.
final class ChildKeeper: Sendable {
    /// That of this process; nil: no shell can be started, and a crash leaves programs behind.
    static let shared = try? ChildKeeper()

    /// Variable of the environment that holds the mark.
    static let variable = "WORKBENCH_KEEPER"

    /// Of the programs to kill. No other process has it.
    let mark = "\(getpid())-\(UUID().uuidString)"
    /// Our end of the connection; −1: closed.
    private let connection: Mutex<Int32>

    /// It looks for marks again, in case that one of them has started another one meanwhile.
    private static let script = """
        left=
        while read -r order child; do
            case $order in
            +) left="$left $child" ;;
            -) others=; for one in $left; do [ "$one" = "$child" ] || others="$others $one"; done; left=$others ;;
            esac
        done
        for one in $left; do kill -s KILL -- "$one"; done
        for round in 1 2 3 4 5 6 7 8 9; do
            left=$(grep -lszxF "$0" /proc/[0-9]*/environ)
            [ -n "$left" ] || exit 0
            for file in $left; do process=${file#/proc/}; kill -s KILL "${process%/environ}"; done
        done
        """

    init() throws {
        let connection = try ChildSocket(for: "keeper")
        defer { close(connection.theirs) }
        let nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC)
        defer { close(nowhere) }
        do {
            // In a group of its own, it hears of no signal from a terminal.
            _ = try spawn(
                "/bin/sh",
                ["-c", Self.script, "\(Self.variable)=\(mark)"],
                ["PATH": "/usr/bin:/bin"],
                input: connection.theirs,
                output: nowhere,
                errors: nowhere,
                leadsGroup: true
            )
        } catch {
            close(connection.ours)
            throw error
        }
        self.connection = Mutex(connection.ours)
    }

    deinit { leave() }

    /// A program runs.
    ///
    /// - Parameter target: its process identifier; below 0, that of a process group.
    func add(_ target: Int32) { tell("+ \(target)") }

    /// It has ended: its number may soon be another's.
    func remove(_ target: Int32) { tell("- \(target)") }

    private func tell(_ order: String) {
        connection.withLock { if $0 >= 0 { _ = ChildSocket.write(order, to: $0) } }
    }

    /// Ends the connection, as the end of this process does. Idempotent.
    func leave() {
        connection.withLock { descriptor in
            if descriptor >= 0 { close(descriptor) }
            descriptor = -1
        }
    }
}
