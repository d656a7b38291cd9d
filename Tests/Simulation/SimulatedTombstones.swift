import Foundation
import PushSchemas
import PushTopics
import SwiftProtobuf

@testable import KafkaClient
@testable import SimulatedServers
@testable import TokenState

/// push.tombstones of a world: one partition, of which nothing is deleted.
final class SimulatedTombstones {
    private(set) var records: [KafkaRecord] = []

    func append(key: [UInt8], value: [UInt8]) {
        let offset = Int64(records.count)
        records.append(KafkaRecord(topic: World.names.tombstones, partition: 0, offset: offset, key: key, value: value))
    }

    /// The registrar's record about a token that lives.
    ///
    /// - Parameter seconds: UNIX seconds of the registration.
    func appendRegistration(of token: [UInt8], environment: String, bundleID: String, at seconds: UInt32) {
        let message = PushTombstone.with {
            $0.token = Data(token)
            $0.bundleID = bundleID
            $0.environment = environment
            $0.registeredAt = Int64(seconds)
        }
        // Some hundred bytes can be encoded.
        append(
            key: TombstonePublisher.key(bundleID: bundleID, token: token),
            value: (try? message.serializedBytes()) ?? []
        )
    }
}

/// A worker's reader of push.tombstones; the contract of `KafkaReader`.
final class SimulatedTombstoneReader: TopicReader {
    /// Nothing is answered before this time.
    var awayUntil: VirtualTime = 0
    private unowned let world: World
    private var position: Int?
    /// The end was told for this position.
    private var toldEnd: Int?

    init(world: World) {
        self.world = world
    }

    private var isAway: Bool { world.broker.isAway || world.clock.now < awayUntil }

    func watermarks(
        of places: [KafkaTopicPartition],
        timeoutMilliseconds: Int32
    ) throws(KafkaError) -> [KafkaWatermarks] {
        guard !isAway else { throw .timedOut }
        return places.map { _ in KafkaWatermarks(low: 0, high: Int64(world.tombstones.records.count)) }
    }

    func begin(_ place: KafkaTopicPartition, at offset: Int64) throws(KafkaError) {
        guard !isAway else { throw .timedOut }
        position = Int(offset)
        toldEnd = nil
    }

    func stop(_ place: KafkaTopicPartition) { position = nil }

    func read(_ place: KafkaTopicPartition, max: Int) -> KafkaBatch? {
        guard !isAway, let position else { return nil }
        let there = world.tombstones.records[position...].prefix(max)
        guard !there.isEmpty else {
            guard toldEnd != position else { return nil }
            toldEnd = position
            return .failed(.partitionEnd, at: Int64(position), place)
        }
        self.position = position + there.count
        return KafkaBatch(Array(there))
    }

    func close() { position = nil }
}

/// The filter of dead tokens of one worker process, and its real follower on a loop of its own.
final class SimulatedFollower {
    let filters: DeadTokenSets
    let reader: SimulatedTombstoneReader
    private let loop: SimulatedEventLoop
    private let follower: TombstoneFollower

    /// - Parameter shards: the event loops that ask the filter.
    init(world: World, shards: [SimulatedEventLoop]) {
        loop = SimulatedEventLoop(clock: world.clock) {}
        reader = SimulatedTombstoneReader(world: world)
        filters = DeadTokenSets(
            maxAge: .nanoseconds(Int64(world.plan.options.filterMaxAge)),
            memoryBytes: 1 << 20,
            writer: loop,
            readers: shards,
            logger: World.logger
        ) { _, _ in true }
        follower = TombstoneFollower(
            eventLoop: loop,
            reader: reader,
            topic: World.names.tombstones,
            partitions: 1,
            filters: filters,
            logger: World.logger
        )
        follower.start()
    }

    /// The process is gone.
    func die() { loop.die() }
}
