import KafkaClient
import PipelineCore

@testable import Demo

/// What the workers' commits cover: everything before an offset, and the done ranges beyond it.
struct CommittedState {
    private var offsets: [Int32: Int64] = [:]
    private var ranges: [Int32: DoneRanges] = [:]

    /// As it stands now.
    init(brokers: String, partitions: Int) throws {
        let admin = try KafkaAdmin(properties: ["bootstrap.servers": brokers])
        defer { admin.close() }
        let places = (0..<Int32(partitions)).map { KafkaTopicPartition(topic: "push.requests", partition: $0) }
        for position in try admin.committed(group: "belfry-worker", places, timeoutMilliseconds: 30_000)
        where position.offset >= 0 {
            offsets[position.partition] = position.offset
            ranges[position.partition] = try DoneRanges(
                decoding: position.metadata,
                committedOffset: position.offset
            )
        }
    }

    /// Notifications of the records published so far that who takes the partitions over would send again.
    func uncovered(of places: [DemoKafka.Place], in partitions: Set<Int32>) -> Int {
        places.reduce(0) { sum, place in
            guard partitions.contains(place.partition), place.offset >= offsets[place.partition] ?? 0 else {
                return sum
            }
            let done = ranges[place.partition] ?? DoneRanges()
            return sum
                + (0..<UInt32(place.notifications)).count { token in
                    !done.contains(.init(offset: place.offset, token: token))
                }
        }
    }

    /// Notifications beyond the committed offsets that are covered all the same.
    func doneBeyondOffsets(of places: [DemoKafka.Place]) -> Int {
        places.reduce(0) { sum, place in
            guard place.offset >= offsets[place.partition] ?? 0, let done = ranges[place.partition] else { return sum }
            return sum
                + (0..<UInt32(place.notifications)).count { token in
                    done.contains(.init(offset: place.offset, token: token))
                }
        }
    }
}
