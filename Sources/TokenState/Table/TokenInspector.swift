import APNsProtocol
import BelfrySupport
import NIOCore
import NIOPosix
import PipelineCore
import PushSchemas
import RedisClient

/// Reads the token state from outside the pipeline: for tools and checks. Its methods block. They may be called from
/// any thread except an event loop's, one at a time.
public final class TokenInspector {
    /// The numbers of tokens in Redis.
    public struct Counts: Equatable, Sendable {
        public var registered = 0
        /// Tokens that are dead now, for topics of some kind at least.
        public var tombstoned = 0
    }

    /// The servers that are asked, for messages.
    package let servers: String

    private let group: MultiThreadedEventLoopGroup
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
        servers = "Redis at \(settings.place)"
        // A thread that cannot be ended is not started before what can fail.
        group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let eventLoop = group.next()
        redis = try eventLoop.submit {
            let servers = RedisCluster(configuration: configuration, eventLoop: eventLoop)
            servers.start()
            return NIOLoopBound(servers, eventLoop: eventLoop)
        }.wait()
    }

    /// Counts by walking over all keys of all servers: not for many millions.
    public func count() throws -> Counts {
        var counts = Counts()
        for master in try masters() {
            var cursor = "0"
            repeat {
                let (next, keys) = try scan(master, from: cursor)
                cursor = next
                for record in try keys.flatMap({ try records(in: $0) }) {
                    if record.registeredAt > 0 { counts.registered += 1 }
                    if record.latestDeath > record.registeredAt { counts.tombstoned += 1 }
                }
            } while cursor != "0"
        }
        return counts
    }

    /// Asks a server for an answer; returns how many servers hold tokens.
    package func countMasters() throws -> Int { try masters().count }

    /// The state of one token, given as hexadecimal digits.
    ///
    /// - Throws: `ToolError.invalidInput` for a text that is no token, `.notFound` for an unknown token.
    public func report(environment: String, bundleID: String, hexToken: String) throws -> TokenReport {
        let token: [UInt8]
        do throws(HexError) {
            token = try Hex.decode(hexToken)
        } catch {
            throw ToolError.invalidInput(["the token \(error)"])
        }
        let (record, badge) = try state(of: token, environment: environment, bundleID: bundleID)
        guard record != nil || badge != nil else {
            throw ToolError.notFound("nothing is known of this token under \(bundleID) in \(environment)")
        }
        // A notification may count for a token that never registered.
        return TokenReport(record ?? TokenRecord(), of: token, badge: badge)
    }

    public func close() {
        let redis = redis
        try? redis.eventLoop.submit { redis.value.close() }.wait()
        try? group.syncShutdownGracefully()
    }

    /// The layout by which tokens lie. Where no role has made one yet there are no tokens: any will do.
    private func layout() throws -> TokenLayout {
        let text = try send(
            { redis, completion in redis.send(slot: TokenLayout.slot, { TokenLayout.writeRead(into: &$0) }, completion)
            },
            read: { $0.string }
        )
        guard let text else { return TokenLayout(SipHash(low: 0, high: 0)) }
        guard let layout = TokenLayout(text: text) else {
            throw ToolError.configuration("\(TokenLayoutFault.unknownForm)")
        }
        return layout
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

    /// Passes every token of a bundle to `body`, a few thousand at a time. A token that exists all the while is not
    /// missed.
    ///
    /// - Parameters:
    ///   - badges: the numbers on icons are read, too: one more question for each token.
    ///   - body: takes a page, and the finished share of the bundle, 0...1; returns false to stop.
    /// - Returns: the number of records of an unknown layout, which are not passed on.
    public func walk(
        environment: String,
        bundleID: String,
        badges: Bool = false,
        _ body: (_ page: [TokenReport], _ share: Double) throws -> Bool
    ) throws -> Int {
        let keys = TokenKeys(environment: environment, bundleID: bundleID)
        let layout = try layout()
        var walk = BundleWalk(layout)
        var unreadable = 0
        while true {
            let places = walk.next(limit: Self.pageBuckets)
            guard !places.isEmpty else { return unreadable }
            let buckets = try read(places, keys)
            for (place, bucket) in zip(places, buckets) { walk.markRead(place, count: bucket.count) }
            var page: [(token: [UInt8], record: TokenRecord)] = []
            for (place, bucket) in zip(places, buckets) {
                for (token, value) in bucket.tokens where walk.isNew(token, at: place) {
                    if let record = value.withUnsafeBytes({ TokenRecord($0) }) {
                        page.append((token, record))
                    } else {
                        unreadable += 1
                    }
                }
            }
            let numbers = badges ? try self.badges(of: page.map(\.token), environment, bundleID, layout) : []
            let reports = page.enumerated().map { index, known in
                TokenReport(known.record, of: known.token, badge: badges ? numbers[index] : nil)
            }
            guard try body(reports, Double(walk.finishedTags) / Double(TokenKeys.tags)) else { return unreadable }
        }
    }

    /// The numbers on icons; nil: none is known.
    private func badges(
        of tokens: [[UInt8]],
        _ environment: String,
        _ bundleID: String,
        _ layout: TokenLayout
    ) throws -> [UInt32?] {
        let redis = redis
        return try redis.eventLoop.flatSubmit {
            let table = TokenTable(redis.value, layout)
            let space = table.space(environment: environment, bundleID: bundleID)
            let answers = tokens.map { Self.badge(of: $0, in: space, table, on: redis.eventLoop) }
            return EventLoopFuture.whenAllSucceed(answers, on: redis.eventLoop)
        }.wait()
    }

    private static func badge(
        of token: [UInt8],
        in space: TokenTable.Space,
        _ table: TokenTable,
        on eventLoop: any EventLoop
    ) -> EventLoopFuture<UInt32?> {
        let promise = eventLoop.makePromise(of: UInt32?.self)
        token.withUnsafeBytes { bytes in
            table.badge(of: bytes, in: space) {
                promise.completeWith($0.mapError { $0 as any Error })
            }
        }
        return promise.futureResult
    }

    /// Removes all data about tokens; returns for each whether there was any.
    package func forget(_ tokens: [[UInt8]], environment: String, bundleID: String) throws -> [Bool] {
        let redis = redis
        let layout = try layout()
        return try redis.eventLoop.flatSubmit {
            let table = TokenTable(redis.value, layout)
            let space = table.space(environment: environment, bundleID: bundleID)
            let answers = tokens.map { token in
                let promise = redis.eventLoop.makePromise(of: Bool.self)
                table.forget(token, in: space) { promise.completeWith($0.mapError { $0 as any Error }) }
                return promise.futureResult
            }
            return EventLoopFuture.whenAllSucceed(answers, on: redis.eventLoop)
        }.wait()
    }

    /// Buckets read at once.
    private static let pageBuckets = 64

    private func read(_ places: [BundleWalk.Place], _ keys: TokenKeys) throws -> [BucketContents] {
        let redis = redis
        return try redis.eventLoop.flatSubmit {
            let answers = places.map { place in
                let promise = redis.eventLoop.makePromise(of: BucketContents.self)
                redis.value.readBucket(place, keys) { promise.completeWith($0.mapError { $0 as any Error }) }
                return promise.futureResult
            }
            return EventLoopFuture.whenAllSucceed(answers, on: redis.eventLoop)
        }.wait()
    }

    private func scan(_ master: RedisAddress, from cursor: String) throws -> (next: String, keys: [[UInt8]]) {
        try send(
            { redis, completion in
                redis.send(
                    to: master,
                    { TokenKeys.writeScan(from: cursor, count: 1000, into: &$0) },
                    completion
                )
            },
            read: { TokenKeys.readScan($0) }
        )
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

    /// The record of a token and the number on its icon; nil: there is none.
    private func state(
        of token: [UInt8],
        environment: String,
        bundleID: String
    ) throws -> (record: TokenRecord?, badge: UInt32?) {
        let redis = redis
        let layout = try layout()
        return try redis.eventLoop.flatSubmit {
            let record = redis.eventLoop.makePromise(of: TokenRecord?.self)
            let space = TokenTable.Space(environment: environment, bundleID: bundleID)
            let table = TokenTable(redis.value, layout)
            table.read(token, in: space) { record.completeWith($0.mapError { $0 as any Error }) }
            let badge = Self.badge(of: token, in: space, table, on: redis.eventLoop)
            return record.futureResult.and(badge).map { ($0, $1) }
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
