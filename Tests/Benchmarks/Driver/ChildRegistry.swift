import Dispatch
import Foundation
import Glibc
import Synchronization

/// The processes that run now, so that none outlives the benchmark, however it ends. Any thread.
enum ChildRegistry {
    private static let running = Mutex<[pid_t: Keeper]>([:])
    private static let sources = Mutex<[Keeper]>([])

    /// Keeps a child: its pipes stay open until it is removed or ended.
    static func add(_ child: ChildProcess) {
        let (identifier, keeper) = (child.identifier, Keeper(kept: child))
        running.withLock { $0[identifier] = keeper }
    }

    static func remove(_ child: ChildProcess) {
        let identifier = child.identifier
        running.withLock { _ = $0.removeValue(forKey: identifier) }
    }

    /// Kills every process with its group, and waits until it is gone. Nothing that they hold is worth keeping.
    static func endAll() {
        let identifiers = running.withLock { Array($0.keys) }
        for identifier in identifiers {
            // A broker that comes as a script runs as the script's child: the group reaches it. Should the group not
            // exist, the process itself is reached.
            if kill(-identifier, SIGKILL) != 0 { kill(identifier, SIGKILL) }
        }
        for identifier in identifiers {
            // Foundation takes the status: it is left for it.
            var information = siginfo_t()
            waitid(P_PID, id_t(identifier), &information, WEXITED | WNOWAIT)
        }
        running.withLock { $0 = [:] }
    }

    /// From now on SIGINT and SIGTERM end the children, remove the directory and exit with 1.
    static func endOnSignals(removing directory: URL) {
        for number in [SIGINT, SIGTERM] {
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler {
                say("stopped by signal \(number)")
                endAll()
                try? FileManager.default.removeItem(at: directory)
                exit(1)
            }
            source.activate()
            sources.withLock { $0.append(Keeper(kept: source)) }
        }
    }

    /// Keeps something alive that only its owner's thread uses.
    private struct Keeper: @unchecked Sendable {
        let kept: Any
    }
}
