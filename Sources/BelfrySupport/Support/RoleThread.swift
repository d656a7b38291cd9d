import NIOCore
import NIOPosix
import Synchronization

/// The thread of a role: an event loop that ends with the work on it, also if that failed half-way through its start.
package final class RoleThread: Sendable {
    package let eventLoop: any EventLoop
    private let undoings = Mutex<[@Sendable () -> EventLoopFuture<Void>]>([])

    private init(_ eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
    }

    /// Runs `body` with a thread of its own, which has ended when this returns or throws. Throws what `body` throws.
    package static func run(_ body: (RoleThread) async throws -> Void) async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let thread = RoleThread(group.next())
        do {
            try await body(thread)
        } catch {
            await thread.undo()
            try await group.shutdownGracefully()
            throw error
        }
        try await group.shutdownGracefully()
    }

    /// Notes how a part that has started is stopped if the body fails: called on the event loop, the latest first, each
    /// after the end of the one before.
    package func onFailure(_ undo: @escaping @Sendable () -> EventLoopFuture<Void>) {
        undoings.withLock { $0.append(undo) }
    }

    /// A part that cannot be stopped keeps no other from it.
    private func undo() async {
        for undo in undoings.withLock({ $0 }).reversed() { try? await eventLoop.flatSubmit(undo).get() }
    }
}
