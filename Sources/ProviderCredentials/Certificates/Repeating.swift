import NIOPosix

/// Runs `body`, and `work` at intervals meanwhile, on a thread for blocking work. The first `work` comes after one
/// interval; none begins once `body` has ended.
func repeating(
    every interval: Duration,
    _ work: @escaping @Sendable () -> Void,
    while body: () async throws -> Void
) async rethrows {
    let repetition = Task {
        while (try? await Task.sleep(for: interval)) != nil {
            // The pool refuses work only when the process ends.
            guard (try? await NIOThreadPool.singleton.runIfActive(work)) != nil else { return }
        }
    }
    defer { repetition.cancel() }
    try await body()
}
