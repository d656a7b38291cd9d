import NIOCore
import Synchronization
import Testing

@testable import BelfrySupport

@Suite("The threads of a role", .timeLimit(.minutes(1)))
struct RoleThreadsServerTests {
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

    private func part(_ name: String, _ threads: RoleThreads, _ story: Story, fails: Bool = false) {
        let eventLoop = threads.eventLoop
        threads.onFailure(on: eventLoop) {
            eventLoop.assertInEventLoop()
            story.note("stop \(name)")
            let promise = eventLoop.makePromise(of: Void.self)
            eventLoop.execute {
                story.note("\(name) has stopped")
                if fails { promise.fail(Failure()) } else { promise.succeed() }
            }
            return promise.futureResult
        }
    }

    @Test("A start that fails half-way stops what has started, the latest first, and ends the threads")
    func failure() async throws {
        let story = Story()
        await #expect(throws: Failure.self) {
            try await RoleThreads.run(1) { threads in
                story.watch(threads.eventLoop)
                #expect(!story.hasEnded)
                part("one", threads, story)
                part("two", threads, story, fails: true)
                throw Failure()
            }
        }
        #expect(story.all == ["stop two", "two has stopped", "stop one", "one has stopped"])
        #expect(story.hasEnded)
    }

    @Test("Work that ends by itself has stopped its parts, and ends the threads")
    func success() async throws {
        let story = Story()
        try await RoleThreads.run(1) { threads in
            story.watch(threads.eventLoop)
            part("one", threads, story)
        }
        #expect(story.all == [])
        #expect(story.hasEnded)
    }
}
