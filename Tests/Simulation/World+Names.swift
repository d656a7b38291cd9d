import Foundation
import Logging
import PushSchemas
import SwiftProtobuf

@testable import BelfryRuntime

/// What does not differ from world to world: names, tokens, bytes, and the configuration of workers.
extension World {
    static let start = VirtualTime.seconds(1000)
    static let names = TopicNames()
    static let requests = names.requests
    static let environment = "sandbox"
    static let bundles = ["com.example.news", "com.example.mail", "com.example.game"]
    static let logger = Logger(label: "simulation") { _ in SwiftLogNoOpLogHandler() }
    /// Shortest wait after a failed connection.
    static let backoffFloor = VirtualTime.milliseconds(100)
    /// Answers of a topic before its gateway is judged.
    static let tokenSample = 6

    static let tokenCount = WorldPlan.topics * WorldPlan.keysPerTopic * WorldPlan.tokensPerKey

    static func ordinal(topic: Int, key: Int, token: Int) -> Int {
        (topic * WorldPlan.keysPerTopic + key) * WorldPlan.tokensPerKey + token
    }

    /// 32 bytes each; the first two tell the ordinal.
    static let tokens: [[UInt8]] = (0..<tokenCount).map { ordinal in
        var dice = Dice(seed: UInt64(ordinal))
        return [UInt8(ordinal >> 8), UInt8(ordinal & 255)] + (2..<32).map { _ in UInt8(dice.pick(0...255)) }
    }

    /// By bucket and field, under which Redis knows them.
    static let tokensByKey: [[UInt8]: Int] = Dictionary(
        uniqueKeysWithValues: tokens.indices.map { (redisKey(ofToken: $0), $0) }
    )

    static func redisKey(ofToken ordinal: Int) -> [UInt8] {
        let topic = ordinal / (tokenCount / WorldPlan.topics)
        let tag = TokenKeys.tag(checksum: tokens[ordinal].withUnsafeBytes { CRC32.checksum($0) })
        return TokenKeys(environment: environment, bundleID: bundles[topic]).bucket(0, tag: tag) + tokens[ordinal]
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
        Array("\(bundles[record.topic])#\(record.key)".utf8)
    }

    static func request(_ ordinal: Int, _ record: WorldPlan.Record) -> [UInt8] {
        var request = PushSendRequest()
        request.requestID = "r\(ordinal)"
        if record.coalescingKey > 0 { request.coalescingKey = "c\(record.coalescingKey)" }
        request.payload = Data(#"{"aps":{"alert":"Hello"},"r":\#(ordinal)}"#.utf8)
        request.packedTokens = Data(
            record.tokens.flatMap { tokens[Self.ordinal(topic: record.topic, key: record.key, token: $0)] }
        )
        // A message of a few hundred bytes can be encoded.
        return (try? request.serializedBytes()) ?? []
    }

    /// When a record says that it was published.
    static func unixMilliseconds(of record: WorldPlan.Record) -> Int64 {
        1_800_000_000_000 + Int64((record.time - min(record.time, record.backdated)) / .milliseconds(1))
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
        return configuration
    }
}
