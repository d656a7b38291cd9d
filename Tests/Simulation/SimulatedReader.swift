import PushTopics

@testable import KafkaClient
@testable import SimulatedServers

/// A worker's reader of the log beside its consumer; the contract of `KafkaReader`.
final class SimulatedReader: PartitionReader {
    private unowned let world: World
    private let consumer: SimulatedConsumer
    private var positions: [Int32: Position] = [:]

    private struct Position {
        var log: LogPosition
        var offset: Int64 { log.offset }
        /// The end was told for this offset.
        var toldEnd: Int64?
    }

    init(world: World, consumer: SimulatedConsumer) {
        self.world = world
        self.consumer = consumer
    }

    func begin(_ place: KafkaTopicPartition, at offset: Int64) throws(KafkaError) {
        guard !world.broker.isAway else { throw .timedOut }
        positions[consumer.ordinal(of: place)] = Position(log: LogPosition(offset: offset))
    }

    func stop(_ place: KafkaTopicPartition) {
        positions[consumer.ordinal(of: place)] = nil
    }

    func read(_ place: KafkaTopicPartition, max: Int) -> KafkaBatch? {
        let partition = consumer.ordinal(of: place)
        guard !world.broker.isAway, world.broker.answersFetches(of: partition), let position = positions[partition]
        else { return nil }
        let isCut = world.broker.isCut(before: position.log, in: partition)
        if isCut { consumer.tellOfCut() }
        if isCut || position.offset < world.broker.low[Int(partition)] {
            return .failed(.offsetOutOfRange, at: position.offset, place)
        }
        let stored = world.broker.partitions[Int(partition)]
        let first = world.broker.place(of: position.offset, in: partition)
        let there = stored[first...].prefix(min(max, 20)).prefix { $0.time <= world.clock.now }
        guard let last = there.last else {
            guard first == stored.count, position.toldEnd != position.offset else { return nil }
            let end = Swift.max(position.offset, world.broker.end(of: partition))
            positions[partition]?.toldEnd = position.offset
            return .failed(.partitionEnd, at: end, place)
        }
        positions[partition]?.log = LogPosition(
            offset: last.record.offset + 1,
            isOfFormerLog: world.broker.cut?.partition != partition
        )
        for record in there { world.auditor.fetchedAgain(record.ordinal, by: consumer) }
        world.note(.fetched, Int(partition), there.count, "\(consumer.name) reads \(there.count) records again")
        return KafkaBatch(there.map { consumer.traits.seen($0.record) })
    }

    func close() {
        positions = [:]
    }
}
