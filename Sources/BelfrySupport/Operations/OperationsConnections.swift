import NIOCore
import PipelineCore
import Synchronization

/// The open connections of the operations endpoint, of all threads.
final class OperationsConnections: Sendable {
    private struct Open {
        var table: ConnectionTable
        var channels: [ConnectionTable.ID: any Channel] = [:]
    }

    private let open: Mutex<Open>

    init(limit: Int = OperationsLimits.connections) {
        open = Mutex(Open(table: ConnectionTable(limit: limit)))
    }

    /// Takes in a connection; another one is closed if there are too many.
    func add(_ channel: any Channel, now: NIODeadline) -> ConnectionTable.ID {
        let (id, evicted) = open.withLock { open in
            let (id, evicted) = open.table.open(now: MonotonicTime(now))
            open.channels[id] = channel
            return (id, evicted.flatMap { open.channels.removeValue(forKey: $0) })
        }
        // Outside the lock: closing calls back.
        evicted?.close(promise: nil)
        return id
    }

    func spoke(_ id: ConnectionTable.ID, now: NIODeadline) {
        open.withLock { $0.table.spoke(id, now: MonotonicTime(now)) }
    }

    /// Idempotent.
    func remove(_ id: ConnectionTable.ID) {
        open.withLock { open in
            open.table.close(id)
            open.channels[id] = nil
        }
    }
}
