import BelfrySupport
import Foundation
import Logging
import PipelineCore
import PushSchemas
import PushTopics
import SwiftProtobuf

@testable import TokenState

/// Constants of all worlds: names, tokens, bytes, and the configuration of workers.
extension World {
    static let start = VirtualTime.seconds(1000)
    static let names = TopicNames()
    /// The Kafka topic of the normal lane.
    static let requests = names.requests
    static let environment = "sandbox"
    /// The environment of topics over HTTP/2, where there are any. Records name theirs then.
    static let streamEnvironment = "live"
    static let bundles =
        ["com.example.news", "com.example.mail", "com.example.game"]
        + (WorldPlan.plainTopics..<WorldPlan.mostTopics).map { "com.example.app\($0)" }
    /// Topics by the last byte of their bundles: workers ask for a bundle's at each tick.
    private static let topicsByLastByte: [[Int]] = (0...UInt8.max).map { byte in
        bundles.indices.filter { bundles[$0].utf8.last == byte }
    }
    /// A bundle without certificate.
    static let uncertified = "com.example.stranger"
    /// The rule by which tokens lie in Redis.
    static let layout = TokenLayout(SipHash(low: 1, high: 2))
    static let logger = Logger(label: "simulation") { _ in SwiftLogNoOpLogHandler() }
    /// Shortest wait after a failed connection.
    static let backoffFloor = VirtualTime.milliseconds(100)
    /// Longest time of attempts after status 429.
    static let retryFor = VirtualTime.seconds(6)
    /// Closes after which a worker gives a notification up.
    static let loneCloses = StreamLimits().loneCloses
    static let tokenBytes = 32
    /// Fewer than a token may have.
    static let badTokenBytes = 5
    /// Of a token's field in its bucket.
    static let fieldBytes = TokenPlace.hashBytes + tokenBytes
    /// Answers of a topic before its gateway is judged.
    static let tokenSample = 6

    /// Tokens of all topics' keys, without those of large keys only.
    static let plainTokenCount = WorldPlan.mostTopics * WorldPlan.keysPerTopic * WorldPlan.tokensPerKey
    /// The first key of each of the first topics has so many.
    static let tokensOfLargeKey = 500
    static let tokenCount =
        plainTokenCount + WorldPlan.plainTopics * (tokensOfLargeKey - WorldPlan.tokensPerKey)

    static func ordinal(topic: Int, key: Int, token: Int) -> Int {
        guard token < WorldPlan.tokensPerKey else {
            let more = tokensOfLargeKey - WorldPlan.tokensPerKey
            return plainTokenCount + topic * more + token - WorldPlan.tokensPerKey
        }
        return (topic * WorldPlan.keysPerTopic + key) * WorldPlan.tokensPerKey + token
    }

    static func place(ofToken ordinal: Int) -> (topic: Int, key: Int) {
        guard ordinal < plainTokenCount else {
            return ((ordinal - plainTokenCount) / (tokensOfLargeKey - WorldPlan.tokensPerKey), 0)
        }
        let key = ordinal / WorldPlan.tokensPerKey
        return (key / WorldPlan.keysPerTopic, key % WorldPlan.keysPerTopic)
    }

    /// The tokens of a world: 32 bytes each; the first two tell the ordinal.
    struct Tokens: Sendable {
        let bytes: [[UInt8]]
        /// By bucket and field, under which Redis knows them.
        let byKey: [[UInt8]: Int]

        /// - Parameter isSpread: each belongs to the shard that its key names.
        init(isSpread: Bool) {
            let bytes = (0..<World.tokenCount).map { ordinal in
                var dice = Dice(seed: UInt64(ordinal))
                var token =
                    [UInt8(ordinal >> 8), UInt8(ordinal & 255)]
                    + (2..<tokenBytes).map { _ in UInt8(dice.pick(0...255)) }
                let key = World.place(ofToken: ordinal).key
                while isSpread, Int(token.withUnsafeBytes { CRC32.checksum($0) } % 2) != key { token[31] &+= 1 }
                return token
            }
            self.bytes = bytes
            byKey = Dictionary(
                uniqueKeysWithValues: [environment, streamEnvironment].flatMap { environment in
                    // The keys of a bundle take as long as those of many tokens.
                    let keys = bundles.map { TokenKeys(environment: environment, bundleID: $0) }
                    return bytes.indices.map { ordinal in
                        (World.redisKey(of: bytes[ordinal], keys[World.place(ofToken: ordinal).topic]), ordinal)
                    }
                }
            )
        }

        static let plain = Tokens(isSpread: false)
        static let spread = Tokens(isSpread: true)
    }

    static func redisKey(ofToken ordinal: Int) -> [UInt8] {
        redisKey(of: Tokens.plain.bytes[ordinal], ordinal: ordinal)
    }

    static func redisKey(of token: [UInt8], ordinal: Int, in environment: String = World.environment) -> [UInt8] {
        redisKey(of: token, TokenKeys(environment: environment, bundleID: bundles[place(ofToken: ordinal).topic]))
    }

    private static func redisKey(of token: [UInt8], _ keys: TokenKeys) -> [UInt8] {
        keys.bucket(0, tag: layout.place(of: token).tag) + layout.field(of: token)
    }

    /// The topic of a bundle; nil: it is not of this world.
    static func topic(ofBundle bundleID: String) -> Int? {
        bundleID.utf8.last.flatMap { byte in topicsByLastByte[Int(byte)].first { bundles[$0] == bundleID } }
    }

    static func badgeKey(of token: [UInt8], ordinal: Int, in environment: String) -> [UInt8] {
        let key = FingerprintKey(.badge, environment: environment, bundleID: bundles[place(ofToken: ordinal).topic])
        let fingerprint = token.withUnsafeBytes { RequestFingerprint(token: $0, key: RequestFingerprint.tokenKey) }
        return [UInt8](unsafeUninitializedCapacity: key.count) { room, count in
            key.write(fingerprint, tag: layout.place(of: token).tag, into: UnsafeMutableRawBufferPointer(room))
            count = key.count
        }
    }

    static func token(_ bytes: UnsafeRawBufferPointer) -> Int { Int(bytes[0]) << 8 | Int(bytes[1]) }

    /// The record's ordinal is the number at the end of the payload.
    static func record(_ payload: UnsafeRawBufferPointer) -> Int {
        var number = 0
        var factor = 1
        for byte in payload.dropLast().reversed() {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { break }
            number += Int(byte & 15) * factor
            factor *= 10
        }
        return number
    }

    static func key(of record: WorldPlan.Record) -> [UInt8] {
        let bundle = record.form == .withoutCertificate ? uncertified : bundles[record.topic]
        return Array("\(bundle)#\(record.form == .misplaced ? 1 - record.key : record.key)".utf8)
    }

    /// The key of hashes in all partitions: the auditor knows topics by them. Former versions have none.
    static func salt(_ options: WorldPlan.Options) -> AppSalt {
        options.hasDifferentOwners ? .none : AppSalt(0x5A17)
    }

    /// The hashes of topics and of the one without a certificate, in an environment as records write it.
    private struct Hashes {
        let topics: [AppHash]
        let uncertified: AppHash

        init(_ environment: String, _ salt: AppSalt) {
            topics = bundles.map { AppHash(bundleID: $0, environment: environment, salt: salt) }
            uncertified = AppHash(bundleID: World.uncertified, environment: environment, salt: salt)
        }
    }

    private static let unnamed = Hashes("", salt(WorldPlan.Options()))
    private static let binary = Hashes(environment, salt(WorldPlan.Options()))
    private static let overStreams = Hashes(streamEnvironment, salt(WorldPlan.Options()))
    /// In worlds with different owners records name their environment.
    private static let unsaltedBinary = Hashes(environment, .none)
    private static let unsaltedStreams = Hashes(streamEnvironment, .none)

    /// The topic that the sender counts a record to; refused: the record cannot be decoded.
    static func topic(of record: WorldPlan.Record, _ options: WorldPlan.Options) -> AppHash {
        let binary = options.hasDifferentOwners ? unsaltedBinary : binary
        let overStreams = options.hasDifferentOwners ? unsaltedStreams : overStreams
        return switch record.form {
        case .undecodable, .overheaded: .refused
        case .withoutCertificate: options.streams.isEmpty ? unnamed.uncertified : binary.uncertified
        default:
            if options.streams.isEmpty {
                unnamed.topics[record.topic]
            } else if options.isOverStreams(record.topic) {
                overStreams.topics[record.topic]
            } else {
                binary.topics[record.topic]
            }
        }
    }

    /// The environment that a record names; empty: the only one there is.
    static func writtenEnvironment(of record: WorldPlan.Record, _ options: WorldPlan.Options) -> String {
        guard !options.streams.isEmpty else { return "" }
        return record.form == .withoutCertificate ? environment : options.environment(of: record.topic)
    }

    static func headers(of record: WorldPlan.Record) -> [(name: String, value: [UInt8])] {
        var headers: [(name: String, value: [UInt8])] = []
        if record.form == .json {
            headers.append((RecordContentType.headerName, Array(RecordContentType.json.headerValue.utf8)))
        }
        if record.headerBytes > 0 {
            headers.append((TraceContext.parent, Array(repeating: 0x30, count: record.headerBytes)))
        }
        return headers
    }

    private static let payloadBeginning = #"{"aps":{"alert":"Hello"},"r":"#
    /// Bytes of a payload at least.
    static let payloadBytes = payloadBeginning.utf8.count + 2

    static func requestID(_ ordinal: Int, _ record: WorldPlan.Record) -> String {
        record.request.map { "twice\($0)" } ?? "r\(record.moved?.from ?? ordinal)"
    }

    static func request(
        _ ordinal: Int,
        _ record: WorldPlan.Record,
        _ tokens: Tokens,
        environment: String
    ) -> [UInt8] {
        guard record.form != .undecodable else { return [0xFF, 0xFF, 0xFF, UInt8(ordinal & 255)] }
        var request = PushSendRequest()
        request.environment = environment
        request.requestID = requestID(ordinal, record)
        request.report = record.report?.message ?? .unspecified
        if record.coalescingKey > 0 { request.coalescingKey = "c\(record.coalescingKey)" }
        if record.addsToBadge {
            request.notification.alert.body = "Hello"
            request.notification.badge.add = 1
            request.notification.custom.fields["r"] = .init(numberValue: Double(ordinal))
        } else {
            request.payload = Data("\(payloadBeginning)\(ordinal)}".utf8)
        }
        let ordinals = record.tokens.lazy.map { Self.ordinal(topic: record.topic, key: record.key, token: $0) }
        if record.badTokens > 0 {
            let bytes = ordinals.map { tokens.bytes[$0] }
            let bad = Array(repeating: [UInt8](repeating: 7, count: badTokenBytes), count: record.badTokens)
            request.tokens = (bytes + bad).map { token in PushDeviceToken.with { $0.raw = Data(token) } }
        } else {
            var packed: [UInt8] = []
            packed.reserveCapacity(record.tokens.count * tokenBytes)
            for ordinal in ordinals { packed += tokens.bytes[ordinal] }
            request.packedTokens = Data(packed)
        }
        if record.expires > 0 { request.expiration = Int64(expiration(of: record)) }
        // A message of a few kilobytes can be encoded.
        if record.form == .json { return (try? [UInt8](request.jsonUTF8Data())) ?? [] }
        return (try? request.serializedBytes()) ?? []
    }

    /// UNIX seconds.
    static func expiration(of record: WorldPlan.Record) -> UInt32 {
        unixSeconds(start + record.time + record.expires)
    }

    /// The time of publication that a record names.
    static func unixMilliseconds(of record: WorldPlan.Record) -> Int64 {
        let time = record.moved?.time ?? record.time - min(record.time, record.backdated)
        return 1_800_000_000_000 + Int64(time / .milliseconds(1))
    }

    /// UNIX seconds of a moment.
    static func unixSeconds(_ time: VirtualTime) -> UInt32 {
        1_800_000_000 + UInt32((time - start) / .seconds(1))
    }

    static func configuration(_ options: WorldPlan.Options) -> BelfryConfiguration {
        var configuration = BelfryConfiguration()
        configuration.environments = [
            EnvironmentSettings(name: environment, gateways: [HostPort(host: "simulated", port: 1)])
        ]
        if !options.streams.isEmpty {
            configuration.environments.append(
                EnvironmentSettings(
                    name: streamEnvironment,
                    gateways: [HostPort(host: "simulated", port: 1)],
                    transport: .http2
                )
            )
            configuration.worker.requestTimeout = .nanoseconds(Int64(options.requestTimeout))
            configuration.worker.retryFor = .nanoseconds(Int64(Self.retryFor))
        }
        configuration.outcomes = options.publishesAll ? .all : .failures
        configuration.worker.shards = 1
        configuration.worker.batch = options.batch
        configuration.worker.connectionsPerTopic = options.lanes
        configuration.worker.confirmationWindow = .nanoseconds(Int64(options.window))
        configuration.worker.sentinelTimeout = .nanoseconds(Int64(options.window) * 2)
        configuration.worker.unknownFate = options.policy
        configuration.worker.maxUncommitted = options.maxUncommitted
        configuration.worker.inFlightPerConnection = options.inFlight
        configuration.worker.connectionMaxAge = .nanoseconds(Int64(options.connectionMaxAge))
        configuration.worker.connectionsPerMinute = options.connectionsPerMinute
        configuration.worker.backoffBase = .milliseconds(300)
        configuration.worker.backoffCap = .seconds(5)
        configuration.worker.invalidTokenSample = tokenSample
        configuration.worker.revokeDeadline = .seconds(3)
        configuration.worker.stopTimeout = .seconds(10)
        configuration.worker.parkAfter = .seconds(3)
        configuration.worker.parkProbeBase = .milliseconds(700)
        configuration.worker.parkProbeCap = .seconds(3)
        configuration.worker.peerTimeout = .seconds(4)
        configuration.worker.commitPatience = .nanoseconds(Int64(Auditor.commitPatience))
        if options.isSpread {
            for bundle in bundles {
                var topic = AppOverrides()
                topic.spread = 2
                configuration.apps[bundle] = topic
            }
        }
        for (topic, quota) in options.quotas {
            configuration.apps[bundles[topic], default: AppOverrides()].urgentQuota = quota
        }
        for topic in options.warm { configuration.apps[bundles[topic], default: AppOverrides()].urgentWarm = true }
        if options.idleTimeout > 0 { configuration.worker.idleTimeout = .nanoseconds(Int64(options.idleTimeout)) }
        if options.memoryBytes > 0 {
            configuration.worker.shardMemoryBytes = options.memoryBytes
            configuration.worker.topicMemoryBytes = options.memoryBytes / 2
        }
        if options.sendsWithoutRedis { configuration.redis.whenAway = .send }
        configuration.worker.dedupeWindow = .nanoseconds(Int64(options.dedupeWindow))
        configuration.worker.coalescingWindow = .nanoseconds(Int64(options.coalescingWindow))
        return configuration
    }
}
