@testable import BelfryRuntime
@testable import KafkaClient

/// A worker's reader of push.parked; the contract of `KafkaReader`.
final class SimulatedReader: PartitionReader {
    private unowned let world: World
    private var positions: [Int32: Int] = [:]

    init(world: World) {
        self.world = world
    }

    func begin(_ place: KafkaTopicPartition, at offset: Int64) throws(KafkaError) {
        guard !world.broker.isAway else { throw .timedOut }
        positions[place.partition] = max(0, Int(offset))
    }

    func stop(_ place: KafkaTopicPartition) {
        positions[place.partition] = nil
    }

    func read(_ place: KafkaTopicPartition, max: Int) -> KafkaBatch? {
        guard !world.broker.isAway, let position = positions[place.partition] else { return nil }
        let records = world.broker.parked[Int(place.partition)].dropFirst(position).prefix(max)
        guard !records.isEmpty else { return nil }
        positions[place.partition] = position + records.count
        world.note(.fetched, Int(place.partition), records.count, "\(records.count) records of \(place) are read")
        return KafkaBatch(Array(records))
    }

    func close() {
        positions = [:]
    }
}
