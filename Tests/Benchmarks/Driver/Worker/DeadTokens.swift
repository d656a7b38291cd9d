import BenchmarkCommon
import Foundation
import KafkaClient
import PushSchemas
import SwiftProtobuf

/// Dead tokens in push.tombstones, for workers' filters.
struct DeadTokens {
    let bundleID: String
    let environment: String
    /// Number of the first token.
    let first: Int

    /// Returns when the broker has acknowledged them all.
    func publish(_ count: Int, brokers: String) throws {
        let producer = try KafkaProducer(properties: ["bootstrap.servers": brokers, "linger.ms": "50"])
        defer { producer.close() }
        for index in first..<first + count {
            var token = [UInt8](repeating: 0, count: Int(BENCH_TOKEN_BYTES))
            bench_token(UInt64(index), &token)
            let message = PushTombstone.with {
                $0.token = Data(token)
                $0.bundleID = bundleID
                $0.environment = environment
                $0.tombstonedAt = 1_700_000_000
                $0.reason = .feedback
            }
            let key = Array("\(bundleID)#\(token.map { String(format: "%02x", $0) }.joined())".utf8)
            try producer.produce(topic: "push.tombstones", key: key, value: try message.serializedBytes())
            if index % 1000 == 0 { producer.poll() }
        }
        try producer.flush(timeoutMilliseconds: 30_000)
    }
}
