import Synchronization

/// A result that comes once, for any number of tasks, on any thread. Unlike a future of an event loop it can be awaited
/// when that has ended.
final class AwaitedResult<Value: Sendable>: Sendable {
    private typealias Outcome = Result<Value, ProducerError>

    private enum State {
        case open([CheckedContinuation<Outcome, Never>])
        case known(Outcome)
    }

    private let state = Mutex(State.open([]))

    func succeed(_ value: Value) { end(.success(value)) }

    func fail(_ error: ProducerError) { end(.failure(error)) }

    /// The first result counts.
    private func end(_ outcome: Outcome) {
        let tasks = state.withLock { state -> [CheckedContinuation<Outcome, Never>] in
            guard case .open(let tasks) = state else { return [] }
            state = .known(outcome)
            return tasks
        }
        for task in tasks { task.resume(returning: outcome) }
    }

    func get() async throws(ProducerError) -> Value {
        let outcome: Outcome = await withCheckedContinuation { task in
            let known = state.withLock { state -> Outcome? in
                switch state {
                case .known(let outcome): return outcome
                case .open(let tasks):
                    state = .open(tasks + [task])
                    return nil
                }
            }
            if let known { task.resume(returning: known) }
        }
        return try outcome.get()
    }
}
