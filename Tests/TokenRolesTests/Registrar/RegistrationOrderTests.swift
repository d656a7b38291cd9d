import APNsProtocol
import Foundation
import KafkaClient
import PushSchemas
import SwiftProtobuf
import TestSupport
import Testing
import TokenState

@testable import PipelineTestSupport
@testable import TokenRoles

/// Registrations through Kafka and the registrar's own decoder into a real Redis, in any order, some of them again and
/// again.
@Suite struct RegistrationOrderTests {
    private static let bundleID = TokenStore.bundleID

    private static func story(_ random: inout SeededGenerator, _ tokens: [[UInt8]]) -> [PushRegistration] {
        (0..<24).map { _ in
            PushRegistration.with {
                let token = random.pick(0...tokens.count - 1)
                $0.environment = TokenStore.environment
                $0.token.raw = Data(tokens[token])
                $0.registeredAt = Int64(random.pick(1...12))
                switch random.pick(0...9) {
                case 0...1: $0.kind = .unregister
                case 2...4: $0.kind = .describe
                case 5...6: $0.replacedToken.raw = Data(tokens[random.pick(0...tokens.count - 1)])
                default: $0.kind = .register
                }
                $0.locale = ["", "de", "pt-BR", "en"][random.pick(0...3)]
                $0.timeZone = ["", "UTC", "Europe/Berlin"][random.pick(0...2)]
            }
        }
    }

    @Test("Permuted, repeated and in batches of any size, registrations lead to the same state", arguments: 1...4)
    func permutations(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        let tokens = (0..<4).map { _ in random.bytes(32) }
        let story = Self.story(&random, tokens)
        let orders = (0..<3).map { _ in
            var order = story + story.filter { _ in random.chance(50) }
            order.shuffle(using: &random)
            return order
        }
        // Each waits for its broker, most of the time.
        let states = try await withThrowingTaskGroup(of: [TokenRecord?].self) { group in
            for order in orders { group.addTask { try await Self.apply(order, to: tokens) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(states.count == orders.count && states.allSatisfy { $0 == states[0] })
        #expect(states[0].contains { $0 != nil })
    }

    private static func apply(_ registrations: [PushRegistration], to tokens: [[UInt8]]) async throws -> [TokenRecord?]
    {
        let broker = try EmbeddedBroker(topics: [
            (name: ApplierProbe.source, partitions: 1), (name: ApplierProbe.deadLetters, partitions: 1),
            (name: "push.tombstones", partitions: 1),
        ])
        defer { broker.close() }
        let producer = try KafkaProducer(properties: ["bootstrap.servers": broker.bootstrapServers])
        for registration in registrations {
            try producer.produce(
                topic: ApplierProbe.source,
                key: Array(bundleID.utf8),
                value: try registration.serializedBytes()
            )
        }
        try producer.flush(timeoutMilliseconds: 30_000)
        producer.close()
        let server = try RedisServerProcess()
        let decoder = RegistrationDecoder(environments: [TokenStore.environment], tokenBytes: 32...100)
        let probe = try await ApplierProbe(broker: broker.bootstrapServers, redisPort: server.port, decoder: decoder)
        while try await probe.committed != Int64(registrations.count) { await probe.commit() }
        try await probe.beginStop().get()
        let store = try await TokenStore(port: server.port)
        let records = try await store.records(tokens)
        try await store.close()
        return records
    }
}
