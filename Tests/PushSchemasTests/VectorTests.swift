import Foundation
import PushSchemas
import SwiftProtobuf
import TestSupport
import Testing

/// Schemas/vectors: test data for publishers in any language.
@Suite("Vectors")
struct VectorTests {
    private struct KeyVectors: Decodable {
        struct Vector: Decodable {
            var bundle: String
            var token: String
            var spread: UInt32
            var crc32: UInt32
            var shard: UInt32
            var key: String
            var murmur2: UInt32
            /// By the number of partitions.
            var partitions: [String: Int32]
        }

        var vectors: [Vector]
    }

    @Test("Checksum, shard, key and partitions of every key vector are those that the code computes")
    func keys() throws {
        let vectors = try JSONDecoder().decode(KeyVectors.self, from: contents(of: "keys.json")).vectors
        #expect(vectors.contains { $0.spread == 1 } && vectors.contains { $0.spread > 1 })
        #expect(vectors.contains { $0.murmur2 > Int32.max }, "the sign bit is dropped, not negated")
        #expect(Set(vectors.map { $0.key.utf8.count % 4 }).count == 4, "every rest of the hash is there")
        for vector in vectors {
            let token = try PushDeviceToken.with { $0.hex = vector.token }.bytes()
            let key = try token.withUnsafeBytes { (bytes: UnsafeRawBufferPointer) throws -> RecordKey in
                #expect(CRC32.checksum(bytes) == vector.crc32, "\(vector.token)")
                #expect(RecordKey.shard(of: bytes, spread: vector.spread) == vector.shard, "\(vector.token)")
                return try RecordKey(bundleID: vector.bundle, token: bytes, spread: vector.spread)
            }
            #expect(key.description == vector.key)
            let hash = Array(vector.key.utf8).withUnsafeBytes { KafkaPartitioner.murmur2($0) }
            #expect(hash == vector.murmur2, "\(vector.key)")
            #expect(!vector.partitions.isEmpty)
            for (text, partition) in vector.partitions {
                let count = try #require(Int32(text))
                let computed = KafkaPartitioner.murmur2Partition(key: vector.key, count: count)
                #expect(computed == partition, "\(vector.key) of \(count)")
            }
        }
    }

    @Test("Of every record the JSON and the binary form say the same, and its tokens belong to its key")
    func records() throws {
        let file = try Google_Protobuf_Struct(jsonUTF8Data: contents(of: "records.json"))
        let records = file.fields["records"]?.listValue.values.map(\.structValue.fields) ?? []
        var met: Set<String> = []
        for record in records {
            func text(_ name: String) -> String { record[name]?.stringValue ?? "" }
            let (name, key) = (text("name"), text("key"))
            let json = Array(try #require(record["json"]).structValue.jsonUTF8Data())
            let binary = try PushDeviceToken.with { $0.hex = text("binary") }.bytes()
            let spread = UInt32(record["spread"]?.numberValue ?? 0)
            met.insert(text("topic"))
            switch text("topic") {
            case "push.requests":
                let request: PushSendRequest = try same(json, binary, name)
                let packed = Array(request.packedTokens)
                var tokens = stride(from: 0, to: packed.count, by: 32).map { Array(packed[$0..<$0 + 32]) }
                for token in request.tokens { tokens.append(try token.bytes()) }
                #expect(tokens.isEmpty == !request.channel.isEmpty, "\(name)")
                for token in tokens { #expect(try Self.key(of: token, spread) == key, "\(name)") }
            case "push.registrations":
                let registration: PushRegistration = try same(json, binary, name)
                #expect(try Self.key(of: registration.token.bytes(), spread) == key, "\(name)")
            case "push.feedback": let _: PushFeedbackTuple = try same(json, binary, name)
            case "push.outcomes": let _: PushOutcome = try same(json, binary, name)
            case "push.tombstones":
                let tombstone: PushTombstone = try same(json, binary, name)
                let token = tombstone.token.map { String(format: "%02x", $0) }.joined()
                #expect(key == "\(tombstone.bundleID)#\(token)", "\(name)")
            case "push.controls":
                let control: PushTopicControl = try same(json, binary, name)
                #expect(key == "\(control.environment)/\(control.bundleID)/discard", "\(name)")
            default: Issue.record("\(name): of a topic that is not in the contract")
            }
        }
        #expect(met.count == 6, "\(met.sorted()): one of each kind")
    }

    /// The message that both forms say; its name is the record's word.
    private func same<M: Message & Equatable>(_ json: [UInt8], _ binary: [UInt8], _ name: String) throws -> M {
        let fromJSON: M = try json.withUnsafeBytes { try RequestDecoding.decode(from: $0, as: .json) }
        let fromBinary: M = try binary.withUnsafeBytes { try RequestDecoding.decode(from: $0, as: .protobuf) }
        #expect(fromJSON == fromBinary, "\(name)")
        return fromBinary
    }

    private static func key(of token: [UInt8], _ spread: UInt32) throws -> String {
        try token.withUnsafeBytes {
            try RecordKey(bundleID: "com.example.news", token: $0, spread: spread).description
        }
    }

    private func contents(of name: String) throws -> Data {
        try Data(contentsOf: Repository.top.appending(path: "Schemas/vectors/\(name)"))
    }
}
