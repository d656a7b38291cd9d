import Foundation
import NIOCore
import NIOPosix
import RedisClient

/// A connection to Redis for what a benchmark wants to know of the server. Calls block; closed at the end.
final class RedisProbe {
    private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    private let connection: NIOLoopBound<RedisConnection>

    /// - Parameter address: `host:port`.
    init(_ address: String) throws {
        let endpoint = try RedisEndpoint(url: "redis://\(address)")
        let eventLoop = group.next()
        connection = try eventLoop.submit {
            let connection = RedisConnection(configuration: .init(endpoint: endpoint), eventLoop: eventLoop)
            connection.start()
            return NIOLoopBound(connection, eventLoop: eventLoop)
        }.wait()
    }

    func close() {
        let connection = connection
        try? connection.eventLoop.submit { connection.value.close() }.wait()
        try? group.syncShutdownGracefully()
    }

    /// Sends a command whose reply is no array; an integer comes as its digits.
    func command(_ name: StaticString, _ arguments: String...) throws -> String {
        let connection = connection
        return try connection.eventLoop.flatSubmit {
            let promise = connection.eventLoop.makePromise(of: String.self)
            connection.value.send { writer in
                writer.command(name, argumentCount: arguments.count)
                for argument in arguments { writer.argument(argument) }
            } _: { result in
                promise.completeWith(
                    result.map { reply in reply.integer.map(String.init) ?? reply.string ?? "" }
                        .mapError { $0 as any Error }
                )
            }
            return promise.futureResult
        }.wait()
    }

    /// The number behind `name` in a section of INFO, up to the next comma; 0: the section says nothing of it.
    func number(_ name: String, in section: String) throws -> Double {
        let text = try command("INFO", section)
        guard let place = text.range(of: name) else { return 0 }
        return Double(text[place.upperBound...].prefix { $0.isNumber || $0 == "." }) ?? 0
    }

    /// CPU time of the server, in microseconds.
    func cpuMicroseconds() throws -> Double {
        try (number("used_cpu_sys:", in: "cpu") + number("used_cpu_user:", in: "cpu")) * 1e6
    }
}
