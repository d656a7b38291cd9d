import Glibc

/// A child process that ends when it is told to, and when this process ends, however it ends.
///
/// A shell stands between: it starts the command in a process group of its own and ends that group when its own input
/// ends.
final class GuardedProcess {
    struct Failure: Error, CustomStringConvertible {
        var description: String
    }

    private static let guardian = #"setsid "$@" 2>/dev/null & read -r _; kill -s TERM -- "-$!"; wait "$!""#

    private let shell: pid_t
    /// Writing end of the shell's input; −1 once closed.
    private var lifeline: CInt
    /// Reading end of the command's output: it ends when the last process of the command's group has, which may be
    /// later than the one that was started.
    private let output: CInt

    init(_ command: [String]) throws {
        let input = try Self.makePipe()
        let output = try Self.makePipe()
        defer {
            close(input.read)
            close(output.write)
        }
        lifeline = input.write
        self.output = output.read
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, input.read, STDIN_FILENO)
        posix_spawn_file_actions_adddup2(&actions, output.write, STDOUT_FILENO)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // Threads of Swift's runtime block signals, and children inherit that: nothing would end them.
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        let arguments = ["/bin/sh", "-c", Self.guardian, "guardian"] + command
        var pointers = arguments.map { strdup($0) } + [nil]
        defer { for pointer in pointers { free(pointer) } }
        var child: pid_t = 0
        let result = posix_spawn(&child, "/bin/sh", &actions, &attributes, &pointers, environ)
        guard result == 0 else {
            close(input.write)
            close(output.read)
            throw Failure(description: "\(command.first ?? "?") not started: \(result)")
        }
        shell = child
    }

    deinit { stop() }

    private static func makePipe() throws -> (read: CInt, write: CInt) {
        var ends: [CInt] = [-1, -1]
        guard pipe(&ends) == 0 else { throw Failure(description: "no pipe: \(errno)") }
        // A child that held the writing end would keep the shell waiting.
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }

    /// Ends the command and waits until all of it has ended. Idempotent.
    func stop() {
        guard lifeline >= 0 else { return }
        close(lifeline)
        lifeline = -1
        var buffer = [UInt8](repeating: 0, count: 4096)
        while read(output, &buffer, buffer.count) > 0 {}
        close(output)
        var status: CInt = 0
        while waitpid(shell, &status, 0) < 0, errno == EINTR {}
    }
}
