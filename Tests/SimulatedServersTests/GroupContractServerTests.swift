import KafkaClient
import Testing

@testable import SimulatedServers

/// The promises of a member of a group on which roles rely: the same tests on the embedded broker and on the simulated
/// one.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct GroupContractServerTests {
    private static let values = [["a", "b", "c"], ["d"]]

    private static func position(_ partition: Int32, _ offset: Int64, _ metadata: String = "") -> KafkaPartitionOffset {
        KafkaPartitionOffset(KafkaServer.place(partition), offset: offset, metadata: metadata)
    }

    @Test(
        "No record comes before the assignment is answered, and then all from the answer on",
        arguments: KafkaServer.allCases
    )
    func starts(on server: KafkaServer) async throws {
        try await withGroup(of: server, Self.values) { group async throws in
            try await group.wait { $0.assigned == [[0, 1]] }
            #expect(try await group.run { $0.records.isEmpty })
            try await group.start(at: [1, KafkaOffset.beginning])
            try await group.wait { $0.records.count >= 3 }
            let records = try await group.run { $0.records.sorted { $0.value < $1.value } }
            #expect(records.map(\.value) == ["b", "c", "d"] && records.map(\.offset) == [1, 2, 0])
        }
    }

    @Test(
        "A committed position comes back with its metadata, and none where nothing was committed",
        arguments: KafkaServer.allCases
    )
    func committed(on server: KafkaServer) async throws {
        try await withGroup(of: server, Self.values) { group async throws in
            try await group.start(at: [0, 0])
            try await group.run { try $0.commit([Self.position(0, 2, "m")]) }
            try await group.wait { $0.commits.count == 1 }
            #expect(try await group.run { $0.commits } == [nil])
            let positions = try await group.ask { consumer, answered in
                let places = [1, 0].map { KafkaServer.place($0) }
                consumer.committed(places, timeoutMilliseconds: 10_000, completion: answered)
            }
            #expect(positions == [Self.position(1, KafkaOffset.none), Self.position(0, 2, "m")])
        }
    }

    @Test(
        "The watermarks are the first offset and the next one, in the order asked for",
        arguments: KafkaServer.allCases
    )
    func watermarks(on server: KafkaServer) async throws {
        try await withGroup(of: server, Self.values) { group async throws in
            try await group.start(at: [0, 0])
            let watermarks = try await group.ask { consumer, answered in
                let places = [1, 0].map { KafkaServer.place($0) }
                consumer.watermarks(of: places, timeoutMilliseconds: 10_000, completion: answered)
            }
            #expect(watermarks.map(\.low) == [0, 0] && watermarks.map(\.high) == [1, 3])
        }
    }

    @Test(
        "A position beyond the end is told once with its offset, and its partition stands until it is sought",
        arguments: KafkaServer.allCases
    )
    func outOfRange(on server: KafkaServer) async throws {
        try await withGroup(of: server, Self.values) { group async throws in
            try await group.start(at: [10, 0])
            try await group.wait { !$0.errors.isEmpty && !$0.records.isEmpty }
            try await group.run { try $0.publish("e", to: 1) }
            try await group.wait { $0.records.count == 2 }
            #expect(try await group.run { $0.errors.map(\.error.isOffsetOutOfRange) } == [true])
            #expect(try await group.run { $0.errors.map(\.offset) } == [10])
            #expect(try await group.run { $0.records.map(\.value) } == ["d", "e"])
            try await group.run { try $0.consumer.seekWithoutWaiting(to: [Self.position(0, 2)]) }
            try await group.wait { $0.records.last?.value == "c" }
        }
    }

    @Test(
        "A paused partition brings nothing while others do, and goes on where it was",
        arguments: KafkaServer.allCases
    )
    func paused(on server: KafkaServer) async throws {
        try await withGroup(of: server, Self.values) { group async throws in
            try await group.start(at: [0, 0])
            try await group.wait { $0.records.count == 4 }
            try await group.run { try $0.consumer.pause([KafkaServer.place(0)]) }
            for partition in 0...1 as ClosedRange<Int32> { try await group.run { try $0.publish("x", to: partition) } }
            try await group.wait { $0.records.contains(.init(partition: 1, offset: 1, value: "x")) }
            #expect(try await group.run { $0.records.count } == 5)
            try await group.run { try $0.consumer.resume([KafkaServer.place(0)]) }
            try await group.wait { $0.records.last == .init(partition: 0, offset: 3, value: "x") }
        }
    }

    @Test("A partition that is sought goes on there, also back", arguments: KafkaServer.allCases)
    func sought(on server: KafkaServer) async throws {
        try await withGroup(of: server, Self.values) { group async throws in
            try await group.start(at: [0, 0])
            try await group.wait { $0.records.count == 4 }
            try await group.run { try $0.consumer.seekWithoutWaiting(to: [Self.position(0, 1)]) }
            try await group.wait { $0.records.count == 6 }
            #expect(try await group.run { $0.records.suffix(2).map(\.value) } == ["b", "c"])
        }
    }

    @Test(
        "A partition that is taken back brings nothing any more, before the answer and after it",
        arguments: KafkaServer.allCases
    )
    func revoked(on server: KafkaServer) async throws {
        try await withGroup(of: server, Self.values) { group async throws in
            try await group.start(at: [0, 0])
            try await group.wait { $0.records.count == 4 }
            try await group.run { try $0.rebalance() }
            try await group.wait { $0.revoked == [[0, 1]] }
            try await group.run { try $0.publish("x", to: 0) }
            for _ in 0..<5 { try await group.run { $0.take() } }
            #expect(try await group.run { $0.records.count } == 4)
            try await group.run { try $0.consumer.completeRevoke() }
            for _ in 0..<5 { try await group.run { $0.take() } }
            #expect(try await group.run { $0.records.count } == 4)
        }
    }

    @Test(
        "A commit that the group refuses is answered so, and leaves the position as it was",
        arguments: KafkaServer.allCases
    )
    func fenced(on server: KafkaServer) async throws {
        try await withGroup(of: server, Self.values) { group async throws in
            try await group.start(at: [0, 0])
            try await group.run { try $0.commit([Self.position(0, 1)]) }
            try await group.wait { $0.commits.count == 1 }
            try await group.run { try $0.rebalance() }
            try await group.wait { $0.revoked == [[0, 1]] }
            try await group.run { try $0.commit([Self.position(0, 2)]) }
            try await group.wait { $0.commits.count == 2 }
            #expect(try await group.run { $0.commits.map { $0?.name } } == [nil, "REBALANCE_IN_PROGRESS"])
            let positions = try await group.ask { consumer, answered in
                consumer.committed([KafkaServer.place(0)], timeoutMilliseconds: 10_000, completion: answered)
            }
            #expect(positions == [Self.position(0, 1)])
        }
    }
}
