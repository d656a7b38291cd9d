import NIOCore
import Synchronization

/// The open connections of a port, of all threads.
package final class PortConnections: Sendable {
    /// Number of a connection, in the order of their opening.
    typealias ID = UInt64

    private struct Connection {
        var quietSince: NIODeadline
        let channel: any Channel
    }

    private struct Open {
        var last: ID = 0
        var connections: [ID: Connection] = [:]
    }

    package let limits: PortLimits
    private let open = Mutex(Open())

    package init(_ limits: PortLimits) { self.limits = limits }

    /// Takes in a connection; the one that was quiet for longest is closed if there are too many.
    func add(_ channel: any Channel, now: NIODeadline) -> ID {
        let (id, evicted) = open.withLock { open in
            // Equal times are told apart by number: the order of a dictionary differs from process to process.
            let isFull = open.connections.count >= limits.connections
            let quietest =
                isFull
                ? open.connections.min { ($0.value.quietSince, $0.key) < ($1.value.quietSince, $1.key) }?.key : nil
            let evicted = quietest.flatMap { open.connections.removeValue(forKey: $0) }?.channel
            open.last += 1
            open.connections[open.last] = Connection(quietSince: now, channel: channel)
            return (open.last, evicted)
        }
        // Outside the lock: closing calls back.
        evicted?.close(promise: nil)
        return id
    }

    /// The connection asked something, or was told something. Ignored for one that has gone.
    func spoke(_ id: ID, now: NIODeadline) {
        open.withLock { $0.connections[id]?.quietSince = now }
    }

    /// Idempotent.
    func remove(_ id: ID) {
        open.withLock { $0.connections[id] = nil }
    }
}
