import KafkaClient
import LocalPipeline
import PipelineCore

/// The notifications that the workers' commits cover. They are everything before an offset but that of topics that lag,
/// and what of those is done.
struct CommittedState {
    private var positions: [Int32: (offset: Int64, metadata: PositionMetadata)] = [:]

    /// As it stands now.
    init(brokers: String, partitions: Int) throws {
        let admin = try KafkaAdmin(properties: ["bootstrap.servers": brokers])
        defer { admin.close() }
        let places = (0..<Int32(partitions)).map { KafkaTopicPartition(topic: "push.requests", partition: $0) }
        for position in try admin.committed(group: "belfry-worker", places, timeoutMilliseconds: 30_000)
        where position.offset >= 0 {
            positions[position.partition] = (
                position.offset,
                try PositionMetadata(decoding: position.metadata, committedOffset: position.offset)
            )
        }
    }

    /// Notifications of the records published so far that the next owner of the partitions would send again.
    func uncovered(of places: [PipelineClient.Place], in partitions: Set<Int32>) -> Int {
        places.reduce(0) { sum, place in
            guard partitions.contains(place.partition) else { return sum }
            return sum + place.notifications - covered(of: place)
        }
    }

    /// Notifications at or beyond the lowest cursor of their partition that are covered all the same.
    func doneBeyondCursors(of places: [PipelineClient.Place]) -> Int {
        places.reduce(0) { sum, place in
            guard let (offset, metadata) = positions[place.partition] else { return sum }
            let lowest = metadata.laggards.map(\.cursor).min() ?? offset
            return place.offset < min(lowest, offset) ? sum : sum + covered(of: place)
        }
    }

    /// The topics that lag in a partition, by their hashes.
    func laggards(in partition: Int32) -> [AppHash] { positions[partition]?.metadata.laggards.map(\.topic) ?? [] }

    /// Hashes by which a partition's commit names a bundle, with the environment and without.
    func hashes(of bundleID: String, in partition: Int32) -> [AppHash] {
        let salt = positions[partition]?.metadata.salt ?? .none
        return ["", "sandbox"].map { AppHash(bundleID: bundleID, environment: $0, salt: salt) }
    }

    private func covered(of place: PipelineClient.Place) -> Int {
        guard let (offset, metadata) = positions[place.partition] else { return 0 }
        let hashes = hashes(of: String(place.key.prefix { $0 != "#" }), in: place.partition)
        guard let laggard = metadata.laggards.first(where: { hashes.contains($0.topic) }) else {
            return place.offset < offset ? place.notifications : 0
        }
        guard place.offset >= laggard.cursor else { return place.notifications }
        return (0..<UInt32(place.notifications)).count { token in
            laggard.done.contains(.init(offset: place.offset, token: token))
        }
    }
}
