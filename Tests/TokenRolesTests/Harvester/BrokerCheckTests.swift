import KafkaClient
import NIOCore
import NIOPosix
import Synchronization
import Testing

@testable import PipelineTestSupport
@testable import TokenRoles

@Suite("The harvester's question to the brokers", .timeLimit(.minutes(1)))
struct BrokerCheckTests {
    @Test("While a broker does not answer, the event loop that asked does its other work")
    func silentBroker() async throws {
        let group = MultiThreadedEventLoopGroup.singleton
        // Takes connections, and says nothing.
        let broker = try await ServerBootstrap(group: group).bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(broker.localAddress?.port)
        let eventLoop = group.next()
        let order = Mutex<[String]>([])
        let answer = eventLoop.makePromise(of: (any Error)?.self)
        eventLoop.execute {
            let check = KafkaBrokerCheck(
                eventLoop: eventLoop,
                properties: ["bootstrap.servers": "127.0.0.1:\(port)"],
                topic: "push.feedback",
                logger: LogLines().logger,
                // A check that waits on the loop has its answer called back before the work below is even there.
                timeoutMilliseconds: 1_000
            )
            check.check { error in
                order.withLock { $0.append("answer") }
                answer.succeed(error)
            }
            eventLoop.execute { order.withLock { $0.append("other work") } }
        }
        let error = try await answer.futureResult.get()
        #expect(error is KafkaError)
        #expect(order.withLock { $0 } == ["other work", "answer"])
        try await broker.close()
    }
}
