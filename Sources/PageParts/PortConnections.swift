import NIOCore

/// The open connections of a port with a page. Belongs to their event loop.
package final class PortConnections {
    /// Number of a connection, in the order of their opening.
    typealias ID = UInt64

    private struct Open {
        var quietSince: NIODeadline
        let close: () -> Void
    }

    private let limit: Int
    private var last: ID = 0
    private var open: [ID: Open] = [:]

    /// - Parameter limit: most connections at once, at least 1.
    package init(limit: Int = PortLimits.connections) {
        precondition(limit > 0, "a port takes connections")
        self.limit = limit
    }

    /// Takes in a connection; the one that was quiet for longest is closed if there are too many.
    func add(now: NIODeadline, close: @escaping () -> Void) -> ID {
        // Equal times are told apart by number: the order of a dictionary differs from process to process.
        let isFull = open.count >= limit
        let oldest = isFull ? open.min { ($0.value.quietSince, $0.key) < ($1.value.quietSince, $1.key) } : nil
        last += 1
        open[last] = Open(quietSince: now, close: close)
        if let oldest {
            open[oldest.key] = nil
            oldest.value.close()
        }
        return last
    }

    /// The connection asked something, or was told something. Ignored for one that has gone.
    func spoke(_ id: ID, now: NIODeadline) { open[id]?.quietSince = now }

    /// Idempotent.
    func remove(_ id: ID) { open[id] = nil }
}
