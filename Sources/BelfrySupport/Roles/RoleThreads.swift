import NIOCore
import NIOPosix
import Synchronization

/// The threads of a role: event loops that end with the work on them, also if that failed half-way through its start.
package final class RoleThreads: Sendable {
    package let eventLoops: [any EventLoop]
    private let undoings = Mutex<[@Sendable () async throws -> Void]>([])

    private init(_ eventLoops: [any EventLoop]) {
        self.eventLoops = eventLoops
    }

    /// The first event loop; of most roles the only one.
    package var eventLoop: any EventLoop { eventLoops[0] }

    /// Runs `body` with threads of its own, which have ended when this returns or throws. Throws what `body` throws.
    ///
    /// - Parameter count: at least 1.
    package static func run(_ count: Int, _ body: (RoleThreads) async throws -> Void) async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: count)
        let threads = RoleThreads(Array(group.makeIterator()))
        do {
            try await body(threads)
        } catch {
            await threads.undo()
            try await group.shutdownGracefully()
            throw error
        }
        try await group.shutdownGracefully()
    }

    /// Notes how something that has started is stopped if the body fails: called on its event loop, the latest first,
    /// each after the end of the one before.
    package func onFailure(on eventLoop: any EventLoop, _ undo: @escaping @Sendable () -> EventLoopFuture<Void>) {
        undoings.withLock { $0.append { try await eventLoop.flatSubmit(undo).get() } }
    }

    /// Nothing that cannot be stopped keeps the rest from it.
    private func undo() async {
        for undo in undoings.withLock({ $0 }).reversed() { try? await undo() }
    }
}

extension Array {
    /// Calls `body` for each value, on its event loop, all at the same time; returns when all have succeeded.
    package func onEachLoop<Value>(
        _ body: @escaping @Sendable (Value) -> EventLoopFuture<Void>
    ) async throws where Element == NIOLoopBound<Value> {
        try await together { bound in bound.eventLoop.flatSubmit { body(bound.value) } }
    }

    /// As ``onEachLoop(_:)``, where a call is all.
    package func tellEachLoop<Value>(
        _ body: @escaping @Sendable (Value) -> Void
    ) async throws where Element == NIOLoopBound<Value> {
        try await together { bound in bound.eventLoop.submit { body(bound.value) } }
    }

    private func together<Value>(
        _ call: @escaping @Sendable (NIOLoopBound<Value>) -> EventLoopFuture<Void>
    ) async throws where Element == NIOLoopBound<Value> {
        try await withThrowingTaskGroup(of: Void.self) { calls in
            for bound in self {
                calls.addTask { try await call(bound).get() }
            }
            try await calls.waitForAll()
        }
    }
}
