import NIOCore
import RedisClient
import TestSupport
import Testing

@Suite("Outcomes that go to a receiver")
struct RedisReceiverTests {
    /// Keeps the outcomes by number.
    private final class Receiver: RedisReceiver {
        private(set) var outcomes: [(number: Int, outcome: Result<ReplyValue, RedisError>)] = []
        /// Called when there are so many.
        var onCount: (count: Int, body: () -> Void)?

        func received(_ result: Result<RedisReply, RedisError>, for number: Int) {
            outcomes.append((number, result.map { ReplyValue($0) }))
            if outcomes.count == onCount?.count { onCount?.body() }
        }
    }

    private static func get(_ key: String, of cluster: RedisCluster, to receiver: Receiver, number: Int) {
        cluster.send(
            slot: RedisSlot(key: key),
            {
                $0.command("GET", argumentCount: 1)
                $0.argument(key)
            },
            to: receiver,
            number: number
        )
    }

    @Test("Each command completes once, under its number, in the order sent")
    func replies() async throws {
        let server = try RedisServerProcess()
        let client = try await TestClusterClient(ports: [server.port])
        #expect(try await client.command("SET", "b", "x") == .success(.status("OK")))
        let outcomes = try await client.run { cluster in
            let promise = cluster.eventLoop.makePromise(of: [String].self)
            let receiver = Receiver()
            receiver.onCount = (3, { promise.succeed(receiver.outcomes.map { "\($0.number) \($0.outcome)" }) })
            for (key, number) in [("a", 7), ("b", 3), ("c", 5)] {
                Self.get(key, of: cluster, to: receiver, number: number)
            }
            return promise.futureResult
        }.get()
        let expected: [(Int, Result<ReplyValue, RedisError>)] = [
            (7, .success(.null)), (3, .success(.text("x"))), (5, .success(.null)),
        ]
        #expect(outcomes == expected.map { "\($0.0) \($0.1)" })
        try await client.close()
    }

    @Test("A command that waits for a map, or comes too late, fails under its number")
    func failures() async throws {
        let client = try await TestClusterClient(ports: [1])
        let outcomes = try await client.run { cluster in
            let receiver = Receiver()
            for number in 1...2 { Self.get("a", of: cluster, to: receiver, number: number) }
            cluster.close()
            Self.get("a", of: cluster, to: receiver, number: 3)
            return receiver.outcomes.map { "\($0.number) \($0.outcome)" }
        }
        #expect(outcomes == (1...3).map { "\($0) \(Result<ReplyValue, RedisError>.failure(.closed))" })
        try await client.close()
    }
}
