import Synchronization

/// Rings when the faults of a topic are changed, for connections that stand still because of one.
///
/// Used from every thread. A listener leaves no more than a closure here, and takes it back when its connection ends.
final class FaultBell: Sendable {
    private let listeners = Mutex<[ObjectIdentifier: @Sendable () -> Void]>([:])

    /// - Parameter body: called on the thread that changes the faults; must not take locks that one may hold.
    func listen(_ listener: AnyObject, _ body: @escaping @Sendable () -> Void) {
        let identifier = ObjectIdentifier(listener)
        listeners.withLock { $0[identifier] = body }
    }

    /// Idempotent.
    func stop(_ listener: AnyObject) {
        let identifier = ObjectIdentifier(listener)
        listeners.withLock { $0[identifier] = nil }
    }

    func ring() {
        let bodies = listeners.withLock { Array($0.values) }
        for body in bodies { body() }
    }
}
