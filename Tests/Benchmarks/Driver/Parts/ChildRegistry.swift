import Dispatch
import Foundation
import Glibc
import Synchronization
import Workbench

/// The processes that run now, so that none outlives the benchmark, however it ends. Any thread.
enum ChildRegistry {
    private static let running = Mutex<[Int32: ChildProcess]>([:])
    private static let sources = Mutex<[Source]>([])

    static func add(_ child: ChildProcess) {
        running.withLock { $0[child.processIdentifier] = child }
    }

    static func remove(_ child: ChildProcess) {
        running.withLock { _ = $0.removeValue(forKey: child.processIdentifier) }
    }

    /// Kills every process with its group, and waits until it is gone. Nothing that they hold is worth keeping.
    static func endAll() {
        let children = running.withLock { running in
            defer { running = [:] }
            return Array(running.values)
        }
        // A broker that comes as a script runs as the script's child: the group reaches it.
        for child in children { child.signal(SIGKILL) }
        for child in children { _ = child.wait() }
    }

    /// SIGINT and SIGTERM end the children, remove the directory and exit with 1, until ``leaveSignals()``.
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
            sources.withLock { $0.append(Source(source: source)) }
        }
    }

    /// Signals do nothing here any more.
    static func leaveSignals() {
        sources.withLock { sources in
            for each in sources { each.source.cancel() }
            sources = []
        }
    }

    /// Keeps a source alive, and cancels it: both are allowed on any thread.
    private struct Source: @unchecked Sendable {
        let source: any DispatchSourceSignal
    }
}
