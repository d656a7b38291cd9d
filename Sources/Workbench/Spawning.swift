import Foundation
import Glibc

/// Both ends of a connection between this process and a child.
///
/// Not a pipe: its ends could not be kept from programs that other threads start at the same time, and one that
/// inherited the writing end would keep it open.
struct ChildSocket {
    let ours: Int32
    let theirs: Int32

    init(for name: String) throws {
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, type, 0, &ends) == 0 else {
            throw ChildProcess.Failure(description: "\(name): no socket pair: errno \(errno)")
        }
        (ours, theirs) = (ends[0], ends[1])
    }

    /// Writes a line; false: it is not read any more.
    static func write(_ line: String, to descriptor: Int32) -> Bool {
        let bytes = Array("\(line)\n".utf8)
        var sent = 0
        while sent < bytes.count {
            // An error instead of the signal that ends a process whose output is not read.
            let count = bytes[sent...].withUnsafeBytes {
                send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            sent += count
        }
        return true
    }
}

/// Starts a program. Only the three standard descriptors reach it.
///
/// - Parameters:
///   - input: nil: there is none.
///   - leadsGroup: it gets a process group of its own.
/// - Returns: its process identifier.
func spawn(
    _ executable: String,
    _ arguments: [String],
    _ environment: [String: String],
    input: Int32?,
    output: Int32,
    errors: Int32,
    leadsGroup: Bool
) throws -> Int32 {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    if let input {
        posix_spawn_file_actions_adddup2(&actions, input, 0)
    } else {
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    }
    posix_spawn_file_actions_adddup2(&actions, output, 1)
    posix_spawn_file_actions_adddup2(&actions, errors, 2)
    // Threads of the concurrency pool block signals, and a child inherits that: it would never hear a SIGTERM.
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var signals = sigset_t()
    sigemptyset(&signals)
    posix_spawnattr_setsigmask(&attributes, &signals)
    let flags = leadsGroup ? POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP : POSIX_SPAWN_SETSIGMASK
    posix_spawnattr_setflags(&attributes, Int16(flags))
    var words: [UnsafeMutablePointer<CChar>?] = ([executable] + arguments).map { strdup($0) } + [nil]
    var variables: [UnsafeMutablePointer<CChar>?] = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
    defer { for word in words + variables { free(word) } }
    var identifier: pid_t = 0
    let result = posix_spawn(&identifier, executable, &actions, &attributes, &words, &variables)
    guard result == 0 else { throw ChildProcess.Failure(description: String(cString: strerror(result))) }
    return identifier
}
