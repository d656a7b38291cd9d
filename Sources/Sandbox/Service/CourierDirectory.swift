import Synchronization

/// The connected devices, with a way to reach each connection. Used from every thread.
final class CourierDirectory: Sendable {
    /// A message to a connection. It comes on any thread, so the connection has to hop to its own.
    enum Call: Equatable, Sendable {
        /// The topic's outbox has something for its device.
        case fetch(topic: Int)
        /// A newer connection of its device is there.
        case replaced
    }

    /// Devices' connections since the start.
    struct Counters: Equatable, Sendable {
        var connected = 0
        var total = 0
        var refused = 0
    }

    private struct Line {
        let connection: UInt64
        let call: @Sendable (Call) -> Void
    }

    private struct State {
        var lines: [UInt32: Line] = [:]
        var connections: UInt64 = 0
        var counters = Counters()
    }

    private let state = Mutex(State())

    var counters: Counters {
        state.withLock { state in
            var counters = state.counters
            counters.connected = state.lines.count
            return counters
        }
    }

    /// Counts a connection of any peer.
    func countArrival() {
        state.withLock { $0.counters.total += 1 }
    }

    /// Counts a connection that the service ended because of what the device did.
    func countRefusal() {
        state.withLock { $0.counters.refused += 1 }
    }

    /// Takes a device's connection in; an older one is told that it is replaced.
    ///
    /// - Returns: the connection's number; numbers rise.
    func connect(_ device: UInt32, call: @escaping @Sendable (Call) -> Void) -> UInt64 {
        let (connection, older) = state.withLock { state in
            state.connections += 1
            let older = state.lines.updateValue(Line(connection: state.connections, call: call), forKey: device)
            return (state.connections, older)
        }
        older?.call(.replaced)
        return connection
    }

    /// Forgets a connection, unless a newer one of the device has its place.
    func disconnect(_ device: UInt32, connection: UInt64) {
        state.withLock { state in
            guard state.lines[device]?.connection == connection else { return }
            state.lines[device] = nil
        }
    }

    /// Tells devices that there is something for them. Those that are not connected are passed over: what waits for
    /// them is called out again when they are back.
    func call(_ devices: [UInt32], topic: Int) {
        let lines = state.withLock { state in devices.compactMap { state.lines[$0] } }
        for line in lines { line.call(.fetch(topic: topic)) }
    }
}
