import ArgumentParser
import BenchmarkCommon
import Foundation
import KafkaClient
import PushSchemas
import SwiftProtobuf

/// Send requests for 500 tokens each, under the keys that these tokens have by the pipeline's contract.
struct RequestRecords {
    static let tokensPerRecord = 500
    private static let requests = "push.requests"

    /// Checks the number of notifications of a round.
    ///
    /// The embedded broker keeps 5 MiB a partition and drops the oldest silently: a third of that leaves room for keys
    /// that spread unevenly.
    ///
    /// - Parameter perPartition: notifications that fit a third of a partition.
    static func check(notifications: Int, partitions: Int, perPartition: Int) throws {
        let most = partitions * perPartition
        guard (tokensPerRecord...most).contains(notifications), notifications.isMultiple(of: tokensPerRecord) else {
            throw ValidationError(
                "--notifications: a multiple of \(tokensPerRecord), \(tokensPerRecord)...\(most), not \(notifications)"
            )
        }
    }

    private struct Key {
        let bytes: [UInt8]
        /// 500 tokens each, end to end.
        var sets: [Data]
    }

    private let keys: [Key]
    /// Number of the next record; each has a payload of its own.
    private var next = 1

    /// - Parameters:
    ///   - tokens: 32 bytes each, end to end. The last ones of a key that fill no record are left out.
    ///   - spread: the number of keys, rather more than partitions, so that these are filled evenly.
    init(bundle: String, tokens: [UInt8], spread: UInt32) throws {
        let tokenBytes = Int(BENCH_TOKEN_BYTES)
        var tokensOfKeys = [Data](repeating: Data(), count: Int(spread))
        tokens.withUnsafeBytes { tokens in
            for start in stride(from: 0, to: tokens.count, by: tokenBytes) {
                let token = UnsafeRawBufferPointer(rebasing: tokens[start..<start + tokenBytes])
                tokensOfKeys[Int(RecordKey.shard(of: token, spread: spread))].append(contentsOf: token)
            }
        }
        let setBytes = Self.tokensPerRecord * tokenBytes
        keys = try tokensOfKeys.enumerated().map { shard, tokens in
            guard tokens.count >= setBytes else { throw BenchmarkError("too few tokens for \(spread) keys") }
            let key = try RecordKey(bundleID: bundle, shard: UInt32(shard))
            let sets = stride(from: 0, through: tokens.count - setBytes, by: setBytes)
            return Key(bytes: Array("\(key)".utf8), sets: sets.map { tokens[$0..<$0 + setBytes] })
        }
    }

    /// Publishes so many notifications, a multiple of 500. Returns when the broker has acknowledged them all.
    ///
    /// - Parameter fill: gives the request with a number its content: by default a payload of 110 bytes.
    mutating func publish(
        _ notifications: Int,
        brokers: String,
        _ fill: (_ request: inout PushSendRequest, _ number: Int) throws -> Void = { $0.payload = try payload($1) }
    ) throws {
        let producer = try KafkaProducer(properties: ["bootstrap.servers": brokers, "linger.ms": "20"])
        defer { producer.close() }
        for _ in 0..<notifications / Self.tokensPerRecord {
            let key = keys[next % keys.count]
            let message = try PushSendRequest.with {
                try fill(&$0, next)
                $0.packedTokens = key.sets[next / keys.count % key.sets.count]
            }
            try producer.produce(topic: Self.requests, key: key.bytes, value: try message.serializedBytes())
            if next % 100 == 0 { producer.poll() }
            next += 1
        }
        try producer.flush(timeoutMilliseconds: 30_000)
    }

    /// The payload of 110 bytes that has this number.
    static func payload(_ number: Int) throws -> Data {
        let token = [UInt8](repeating: 0, count: Int(BENCH_TOKEN_BYTES))
        var record = [UInt8](repeating: 0, count: Int(BENCH_RECORD_LIMIT_BYTES))
        let count = bench_record(UInt64(number), token, &record)
        return try PushSendRequest(serializedBytes: Array(record[..<count])).payload
    }
}
