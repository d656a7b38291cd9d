import NIOCore
import Synchronization
import Testing

@testable import BelfrySupport

@Suite("The thread of a role", .timeLimit(.minutes(1)))
struct RoleThreadTests {
    private struct Failure: Error {}

    /// The calls, in their order.
    private final class Story: Sendable {
        private let lines = Mutex<[String]>([])
        private let isOver = Mutex(false)

        var all: [String] { lines.withLock { $0 } }

        func note(_ line: String) { lines.withLock { $0.append(line) } }

        /// The watched event loop has ended.
        var hasEnded: Bool { isOver.withLock { $0 } }

        /// An event loop that ends fails the tasks that are not due.
        func watch(_ eventLoop: any EventLoop) {
            eventLoop.scheduleTask(in: .hours(1)) {}.futureResult.whenFailure { [self] _ in
                isOver.withLock { $0 = true }
            }
        }
    }

    private func part(_ name: String, _ thread: RoleThread, _ story: Story, fails: Bool = false) {
        thread.onFailure {
            thread.eventLoop.assertInEventLoop()
            story.note("stop \(name)")
            let promise = thread.eventLoop.makePromise(of: Void.self)
            thread.eventLoop.execute {
                story.note("\(name) has stopped")
                if fails { promise.fail(Failure()) } else { promise.succeed() }
            }
            return promise.futureResult
        }
    }

    @Test("A start that fails half-way stops what has started, the latest first, and ends the thread")
    func failure() async throws {
        let story = Story()
        await #expect(throws: Failure.self) {
            try await RoleThread.run { thread in
                story.watch(thread.eventLoop)
                #expect(!story.hasEnded)
                part("one", thread, story)
                part("two", thread, story, fails: true)
                throw Failure()
            }
        }
        #expect(story.all == ["stop two", "two has stopped", "stop one", "one has stopped"])
        #expect(story.hasEnded)
    }

    @Test("Work that ends by itself has stopped its parts, and ends the thread")
    func success() async throws {
        let story = Story()
        try await RoleThread.run { thread in
            story.watch(thread.eventLoop)
            part("one", thread, story)
        }
        #expect(story.all == [])
        #expect(story.hasEnded)
    }
}
