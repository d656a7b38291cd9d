import Dispatch
import Synchronization

/// The output of a program, line by line: one thread appends what it reads, another awaits lines.
final class OutputLines: Sendable {
    private struct State {
        var bytes: [UInt8] = []
        /// Before this everything was taken.
        var start = 0
        var isAtEnd = false
    }

    private let state = Mutex(State())
    /// Raised with every change.
    private let change = DispatchSemaphore(value: 0)

    func append(_ bytes: ArraySlice<UInt8>) {
        state.withLock { $0.bytes += bytes }
        change.signal()
    }

    /// Nothing more comes.
    func end() {
        state.withLock { $0.isAtEnd = true }
        change.signal()
    }

    /// The next line without its end; nil at the end of the output, or if the time is over before.
    func next(within limit: Duration) -> String? {
        let deadline = DispatchTime.now() + .nanoseconds(Int(limit / .nanoseconds(1)))
        while true {
            let (line, isAtEnd) = state.withLock { state -> (String?, Bool) in
                guard let end = state.bytes[state.start...].firstIndex(of: UInt8(ascii: "\n")) else {
                    state.bytes.removeFirst(state.start)
                    state.start = 0
                    return (nil, state.isAtEnd)
                }
                let line = String(decoding: state.bytes[state.start..<end], as: UTF8.self)
                state.start = end + 1
                return (line, false)
            }
            if line != nil || isAtEnd { return line }
            if change.wait(timeout: deadline) == .timedOut { return nil }
        }
    }

    /// Everything that was not taken, once the output has ended. Blocks until then.
    func rest() -> String {
        while !state.withLock({ $0.isAtEnd }) { change.wait() }
        return state.withLock { state in
            let rest = String(decoding: state.bytes[state.start...], as: UTF8.self)
            state.bytes = []
            state.start = 0
            return rest
        }
    }
}
