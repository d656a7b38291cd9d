import NIOCore
import PipelineCore
import PushTopics

@testable import KafkaClient
@testable import SimulatedServers
@testable import TokenState

/// A worker's filter of dead tokens in a world of appliers: the real ``TombstoneFollower``, which reads push.tombstones
/// from its beginning.
final class ApplyingFollower {
    private unowned let world: ApplyingWorld
    private let filters: DeadTokenSets
    private let follower: TombstoneFollower

    private static let maxAge = Duration.seconds(40)
    /// Time between two looks of the auditor.
    private static let lookEvery = VirtualTime.seconds(1)

    init(world: ApplyingWorld) {
        self.world = world
        let loop = SimulatedEventLoop(clock: world.clock) {}
        filters = DeadTokenSets(
            maxAge: Self.maxAge,
            memoryBytes: .max,
            writer: loop,
            readers: [loop],
            logger: World.logger
        ) { environment, _ in environment == World.environment }
        follower = TombstoneFollower(
            eventLoop: loop,
            reader: ApplyingReader(world: world),
            topic: World.names.tombstones,
            partitions: Int(world.options.partitions),
            filters: filters,
            logger: World.logger
        )
    }

    func start() {
        follower.start()
        look()
    }

    /// A token that is not found in the filter is taken for alive.
    var isTrusted: Bool { filters.isComplete(now: now) }

    private var now: MonotonicTime { MonotonicTime(nanoseconds: world.clock.now) }

    private func look() {
        check()
        world.clock.after(Self.lookEvery) { [self] in look() }
    }

    /// While the filter is trusted it holds every token that was dead as of the time of which it is complete.
    func check() {
        guard isTrusted, let since = filters.completeSince else { return }
        let dead = filters.deadTokens(environment: World.environment, bundleID: ApplyingRecord.bundleID)
        for token in 0..<world.options.tokens {
            guard let deadSince = world.broker.words[token]?.deadSince, deadSince < since.nanoseconds else { continue }
            let hash = ApplyingRecord.tokens[token].withUnsafeBytes { DeadTokenSet.hash($0) }
            if !dead.contains(hash) { world.auditor.missed(token) }
        }
    }
}

/// A reader of push.tombstones; the contract of `KafkaReader`.
private final class ApplyingReader: TopicReader {
    private unowned let world: ApplyingWorld
    private var positions: [Int32: Int64] = [:]

    init(world: ApplyingWorld) {
        self.world = world
    }

    func begin(_ place: KafkaTopicPartition, at offset: Int64) throws(KafkaError) {
        guard !world.broker.isAway else { throw .timedOut }
        positions[place.partition] = offset
    }

    func stop(_ place: KafkaTopicPartition) { positions[place.partition] = nil }

    func read(_ place: KafkaTopicPartition, max: Int) -> KafkaBatch? {
        guard !world.broker.isAway, let position = positions[place.partition] else { return nil }
        let entries = world.broker[.tombstones][place.partition].entries.dropFirst(Int(position)).prefix(max)
        guard !entries.isEmpty else { return nil }
        positions[place.partition] = position + Int64(entries.count)
        return KafkaBatch(
            entries.enumerated().map { index, entry in
                KafkaRecord(
                    topic: place.topic,
                    partition: place.partition,
                    offset: position + Int64(index),
                    key: entry.key,
                    value: entry.value
                )
            }
        )
    }

    func watermarks(
        of places: [KafkaTopicPartition],
        timeoutMilliseconds: Int32
    ) throws(KafkaError) -> [KafkaWatermarks] {
        guard !world.broker.isAway else { throw .timedOut }
        return places.map { place in
            let partition = world.broker[.tombstones][place.partition]
            return KafkaWatermarks(low: partition.low, high: partition.high)
        }
    }

    func close() { positions = [:] }
}
