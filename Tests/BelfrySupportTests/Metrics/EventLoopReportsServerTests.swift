import BelfrySupport
import Dispatch
import NIOCore
import NIOPosix
import Testing

@Suite("Values that live on event loops", .timeLimit(.minutes(1)))
struct EventLoopReportsServerTests {
    private final class Number {
        let number: Int

        init(_ number: Int) {
            self.number = number
        }
    }

    private func bound(_ number: Int, to group: MultiThreadedEventLoopGroup) async throws -> NIOLoopBound<Number> {
        let eventLoop = group.next()
        return try await eventLoop.submit { NIOLoopBound(Number(number), eventLoop: eventLoop) }.get()
    }

    @Test("One whose loop has ended while another one's was busy had been asked before")
    func endsMeanwhile() async throws {
        let busy = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let ending = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let values = EventLoopReports<Number>()
        values.replace(with: [try await bound(0, to: busy), try await bound(1, to: ending)])
        let isFree = DispatchSemaphore(value: 0)
        busy.next().execute { isFree.wait() }
        let (asked, continuation) = AsyncStream<Int>.makeStream()
        async let answers = values.ask { value in
            continuation.yield(value.number)
            return value.number * 10
        }
        var order = asked.makeAsyncIterator()
        #expect(await order.next() == 1)
        values.replace(with: [])
        try await ending.shutdownGracefully()
        isFree.signal()
        #expect(await answers == [0, 10])
        #expect(await values.ask { $0.number }.isEmpty)
        try await busy.shutdownGracefully()
    }
}
