import CRdKafka
import NIOCore
import NIOPosix
import Testing

@testable import KafkaClient

@Suite("The wake-up of an event loop")
struct QueueWakeUpTests {
    @Test("Who asks for the next round is called then, once, and the handler of the queue is not")
    func nextRound() async throws {
        let handle = try #require(rd_kafka_new(RD_KAFKA_PRODUCER, rd_kafka_conf_new(), nil, 0))
        let queue = try #require(rd_kafka_queue_new(handle))
        let pointers = UncheckedPointers(handle: handle, queue: queue)
        let eventLoop = MultiThreadedEventLoopGroup.singleton.any()
        let (rounds, calls) = try await eventLoop.flatSubmit { () -> EventLoopFuture<([Int], Int)> in
            var rounds: [Int] = []
            var calls = 0
            let done = eventLoop.makePromise(of: ([Int], Int).self)
            let wakeUp: QueueWakeUp
            do {
                wakeUp = try QueueWakeUp(on: eventLoop, queue: pointers.queue) {
                    done.fail($0)
                } onWakeUp: {
                    calls += 1
                }
            } catch {
                return eventLoop.makeFailedFuture(error)
            }
            wakeUp.nextRound { rounds.append(1) }
            wakeUp.nextRound {
                rounds.append(2)
                wakeUp.nextRound {
                    rounds.append(3)
                    wakeUp.nextRound { rounds.append(4) }
                    wakeUp.stop()
                    done.succeed((rounds, calls))
                }
            }
            return done.futureResult
        }.get()
        rd_kafka_queue_destroy(pointers.queue)
        rd_kafka_destroy(pointers.handle)
        #expect(rounds == [1, 2, 3])
        #expect(calls == 1, "the first look into the queue")
    }

    /// They are used on the event loop, and freed when that has let go.
    private struct UncheckedPointers: @unchecked Sendable {
        var handle: OpaquePointer
        var queue: OpaquePointer
    }
}
