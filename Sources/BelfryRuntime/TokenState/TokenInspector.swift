import APNsProtocol
import NIOCore
import NIOPosix
import RedisClient

/// Reads the token state from outside the pipeline: for tools and checks. Its methods block and may be called from any
/// thread that is not an event loop's, one at a time.
public final class TokenInspector {
    /// How many tokens Redis knows.
    public struct Counts: Equatable, Sendable {
        public var registered = 0
        /// Dead now.
        public var tombstoned = 0
    }

    private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    private let redis: NIOLoopBound<RedisCluster>

    /// - Throws: the URL is wrong.
    public convenience init(redisURL: String) throws {
        var settings = RedisSettings()
        settings.endpoints = try RedisEndpoint.list(urls: redisURL)
        try self.init(settings)
    }

    /// - Throws: the system's trust roots cannot be loaded.
    public init(_ settings: RedisSettings) throws {
        let configuration = try settings.servers(name: "belfry-inspector")
        let eventLoop = group.next()
        redis = try eventLoop.submit {
            let servers = RedisCluster(configuration: configuration, eventLoop: eventLoop)
            servers.start()
            return NIOLoopBound(servers, eventLoop: eventLoop)
        }.wait()
    }

    /// Counts by walking over all keys: not for a server with many millions.
    public func count() throws -> Counts {
        var counts = Counts()
        for master in try masters() {
            var cursor = "0"
            repeat {
                let (next, keys) = try scan(master, from: cursor)
                cursor = next
                for record in try keys.flatMap({ try records(in: $0) }) {
                    if record.registeredAt > 0 { counts.registered += 1 }
                    if record.isDead { counts.tombstoned += 1 }
                }
            } while cursor != "0"
        }
        return counts
    }

    /// What is known of one token, written as hexadecimal digits.
    ///
    /// - Throws: `ToolError.invalidInput` for a text that is no token, `.notFound` if nothing is known of it.
    public func report(environment: String, bundleID: String, hexToken: String) throws -> TokenReport {
        let token: [UInt8]
        do throws(HexError) {
            token = try Hex.decode(hexToken)
        } catch {
            throw ToolError.invalidInput(["the token is not hexadecimal: \(error)"])
        }
        guard let record = try record(of: token, environment: environment, bundleID: bundleID) else {
            throw ToolError.notFound("nothing is known of this token under \(bundleID) in \(environment)")
        }
        return TokenReport(record)
    }

    public func close() {
        let redis = redis
        try? redis.eventLoop.submit { redis.value.close() }.wait()
        try? group.syncShutdownGracefully()
    }

    /// The servers that hold tokens; waits until they are known.
    private func masters() throws -> [RedisAddress] {
        try send(
            { redis, completion in
                redis.send(slot: RedisSlot(number: 0), { $0.command("PING", argumentCount: 0) }, completion)
            },
            read: { _ in }
        )
        let redis = redis
        return try redis.eventLoop.submit { redis.value.masterAddresses }.wait()
    }

    private func scan(_ master: RedisAddress, from cursor: String) throws -> (next: String, keys: [[UInt8]]) {
        try send(
            { redis, completion in
                redis.send(to: master, { Self.writeScan(&$0, cursor) }, completion)
            },
            read: { reply in
                guard reply.count == 2 else { return ("0", []) }
                return (reply[0].string ?? "0", (0..<reply[1].count).map { Array(reply[1][$0].bytes) })
            }
        )
    }

    private static func writeScan(_ writer: inout RedisCommandWriter, _ cursor: String) {
        writer.command("SCAN", argumentCount: 5)
        writer.argument(cursor)
        writer.argument("MATCH")
        writer.argument("t2:*")
        writer.argument("COUNT")
        writer.argument("1000")
    }

    private func records(in bucket: [UInt8]) throws -> [TokenRecord] {
        try send(
            { redis, completion in
                redis.send(
                    slot: RedisSlot(key: bucket),
                    { writer in
                        writer.command("HVALS", argumentCount: 1)
                        writer.argument(bucket)
                    },
                    completion
                )
            },
            read: { reply in (0..<reply.count).compactMap { TokenRecord(reply[$0].bytes) } }
        )
    }

    private func record(of token: [UInt8], environment: String, bundleID: String) throws -> TokenRecord? {
        let redis = redis
        return try redis.eventLoop.flatSubmit {
            let promise = redis.eventLoop.makePromise(of: TokenRecord?.self)
            let space = TokenTable.Space(environment: environment, bundleID: bundleID)
            TokenTable(redis.value).read(token, in: space) { result in
                promise.completeWith(result.mapError { $0 as any Error })
            }
            return promise.futureResult
        }.wait()
    }

    private func send<R: Sendable>(
        _ send: @escaping @Sendable (RedisCluster, @escaping RedisCluster.Completion) -> Void,
        read: @escaping @Sendable (RedisReply) -> R
    ) throws -> R {
        let redis = redis
        return try redis.eventLoop.flatSubmit {
            let promise = redis.eventLoop.makePromise(of: R.self)
            send(redis.value) { result in
                promise.completeWith(result.map(read).mapError { $0 as any Error })
            }
            return promise.futureResult
        }.wait()
    }
}
