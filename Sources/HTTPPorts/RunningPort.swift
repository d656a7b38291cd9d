import HummingbirdCore
import Logging
import NIOCore
import NIOPosix

/// A port that is served on a thread of its own until it is stopped.
package final class RunningPort: Sendable {
    /// Runs tasks on an event loop: a request waits for no other thread.
    final class LoopExecutor: TaskExecutor {
        private let loop: any EventLoop

        init(_ loop: any EventLoop) { self.loop = loop }

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            loop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        }
    }

    private let listener: any Channel
    private let thread: MultiThreadedEventLoopGroup
    private let serving: Task<Void, Never>

    private init(listener: any Channel, thread: MultiThreadedEventLoopGroup, serving: Task<Void, Never>) {
        self.listener = listener
        self.thread = thread
        self.serving = serving
    }

    /// The port on which it listens.
    package var port: Int { listener.localAddress?.port ?? 0 }

    /// The event loop of its connections.
    package var eventLoop: any EventLoop { thread.next() }

    /// When this returns, the port is open.
    ///
    /// - Parameter make: makes its connections' terms, on their event loop.
    /// - Throws: the system's error when the address cannot be had.
    package static func open(
        host: String,
        port: Int,
        _ make: @escaping @Sendable (any EventLoop) -> PortChannel
    ) async throws -> RunningPort {
        let thread = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let loop = thread.next()
        let listening = loop.makePromise(of: (any Channel).self)
        do {
            let server = try await loop.submit { make(loop) }.get().server(
                configuration: ServerConfiguration(address: .hostname(host, port: port)),
                onServerRunning: { listening.succeed($0) },
                eventLoopGroup: thread,
                logger: Logger(label: "belfry.port") { _ in SwiftLogNoOpLogHandler() }
            )
            let serving = Task(executorPreference: LoopExecutor(loop)) {
                do {
                    try await server.run()
                } catch {
                    listening.fail(error)
                }
            }
            return RunningPort(listener: try await listening.futureResult.get(), thread: thread, serving: serving)
        } catch {
            try await thread.shutdownGracefully()
            throw error
        }
    }

    /// Closes the port and its connections and ends the thread. Idempotent.
    package func stop() async throws {
        if !serving.isCancelled {
            // Hummingbird is to accept none that it does not serve any more: that traps.
            listener.close(promise: nil)
            try await listener.closeFuture.get()
        }
        serving.cancel()
        await serving.value
        try await thread.shutdownGracefully()
    }
}
