import NIOCore
import NIOPosix
import RedisClient

@testable import BelfryRuntime

/// Token state in a real server, for tests. The test closes it.
final class TokenStore: Sendable {
    let eventLoop: any EventLoop
    private let connection: NIOLoopBoundBox<RedisConnection>

    init(port: Int) async throws {
        let eventLoop = MultiThreadedEventLoopGroup.singleton.any()
        self.eventLoop = eventLoop
        connection = try await eventLoop.submit {
            let connection = RedisConnection(
                configuration: .init(endpoint: RedisEndpoint(host: "127.0.0.1", port: port)),
                eventLoop: eventLoop
            )
            connection.start()
            return NIOLoopBoundBox(connection, eventLoop: eventLoop)
        }.get()
    }

    /// Runs the changes, one after the other on the server, and returns their answers.
    func run(_ changes: [TokenChange]) async throws -> [Result<Int64, RedisError>] {
        try await collect(changes.count) { connection, answer in
            for (index, change) in changes.enumerated() {
                change.run(on: connection) { result in answer(index, result.map { $0.integer ?? -1 }) }
            }
        }
    }

    /// The raw values of keys; nil for one that does not exist.
    func values(_ keys: [[UInt8]]) async throws -> [[UInt8]?] {
        try await collect(keys.count) { connection, answer in
            for (index, key) in keys.enumerated() {
                connection.send { writer in
                    writer.command("GET", argumentCount: 1)
                    writer.argument(key)
                } _: { result in
                    answer(index, result.map { $0.isNull ? nil : Array($0.bytes) })
                }
            }
        }.map { try $0.get() }
    }

    func set(_ key: [UInt8], _ value: [UInt8]) async throws {
        let answers: [Result<Int64, RedisError>] = try await collect(1) { connection, answer in
            connection.send { writer in
                writer.command("SET", argumentCount: 2)
                writer.argument(key)
                writer.argument(value)
            } _: { result in
                answer(0, result.map { _ in 0 })
            }
        }
        _ = try answers[0].get()
    }

    /// Runs ``DedupeScript/remember``; returns its answer.
    func remember(_ keys: [[UInt8]], milliseconds: Int) async throws -> Int64 {
        let answers: [Result<Int64, RedisError>] = try await collect(1) { connection, answer in
            connection.evaluate(DedupeScript.remember, keyCount: keys.count, argumentCount: 1) { writer in
                for key in keys { writer.argument(key) }
                writer.argument(milliseconds)
            } _: { result in
                answer(0, result.map { $0.integer ?? -1 })
            }
        }
        return try answers[0].get()
    }

    /// For how many milliseconds more the keys are kept; negative: for ever, or they are gone.
    func timeToLive(of keys: [[UInt8]]) async throws -> [Int64] {
        try await collect(keys.count) { connection, answer in
            for (index, key) in keys.enumerated() {
                connection.send { writer in
                    writer.command("PTTL", argumentCount: 1)
                    writer.argument(key)
                } _: { result in
                    answer(index, result.map { $0.integer ?? -1 })
                }
            }
        }.map { try $0.get() }
    }

    func close() async throws {
        try await eventLoop.submit { [connection] in connection.value.close() }.get()
    }

    func collect<Value: Sendable>(
        _ count: Int,
        _ send:
            @escaping @Sendable (
                RedisConnection, _ answer: @escaping (Int, Result<Value, RedisError>) -> Void
            ) -> Void
    ) async throws -> [Result<Value, RedisError>] {
        let promises = (0..<count).map { _ in eventLoop.makePromise(of: Result<Value, RedisError>.self) }
        eventLoop.execute { [connection] in
            send(connection.value) { promises[$0].succeed($1) }
        }
        var answers: [Result<Value, RedisError>] = []
        for promise in promises { answers.append(try await promise.futureResult.get()) }
        return answers
    }
}
