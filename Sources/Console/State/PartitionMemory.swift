import BelfrySupport
import PipelineCore

/// The partitions of the Kafka topics that roles read, and who holds them.
///
/// A partition that no process tells of any more is remembered: it may have no holder. While two processes tell of one,
/// as in a rebalance, the larger figure counts.
struct PartitionMemory: Sendable {
    struct Place: Hashable, Comparable, Sendable {
        var kafkaTopic: String
        var number: Int

        static func < (left: Place, right: Place) -> Bool {
            (left.kafkaTopic, left.number) < (right.kafkaTopic, right.number)
        }
    }

    struct Entry: Equatable, Sendable {
        var partition: RoleAnswer.Partition
        /// More than one only while a partition moves.
        var holders: [HostPort]
        /// Nil: it has a holder.
        var unheldSince: MonotonicTime?
    }

    private(set) var entries: [Place: Entry] = [:]

    mutating func update(_ fresh: [ProcessRecord], now: MonotonicTime) {
        var held: [Place: Entry] = [:]
        for record in fresh {
            for partition in record.answer?.partitions ?? [] {
                let place = Place(kafkaTopic: partition.kafkaTopic, number: partition.number)
                if var entry = held[place] {
                    entry.merge(partition)
                    entry.holders.append(record.address)
                    held[place] = entry
                } else if held.count < ConsoleLimits.partitions {
                    held[place] = Entry(partition: partition, holders: [record.address], unheldSince: nil)
                }
            }
        }
        // While no process answers at all, the console may be the one that is cut off.
        guard !fresh.isEmpty else { return }
        for (place, var entry) in entries where held[place] == nil {
            guard held.count < ConsoleLimits.partitions else { break }
            entry.holders = []
            entry.unheldSince = entry.unheldSince ?? now
            held[place] = entry
        }
        entries = held
    }

    /// A figure of all partitions that the processes tell of.
    static func sum(_ records: [ProcessRecord], _ figure: KeyPath<RoleAnswer.Partition, Int?>) -> Int {
        var largest: [Place: Int] = [:]
        for partition in records.flatMap({ $0.answer?.partitions ?? [] }) {
            guard let value = partition[keyPath: figure] else { continue }
            let place = Place(kafkaTopic: partition.kafkaTopic, number: partition.number)
            largest[place] = max(largest[place] ?? 0, value)
        }
        return largest.values.reduce(0, +)
    }
}

extension PartitionMemory.Entry {
    fileprivate mutating func merge(_ other: RoleAnswer.Partition) {
        func larger(_ left: Int?, _ right: Int?) -> Int? {
            guard let left, let right else { return left ?? right }
            return max(left, right)
        }
        partition.lagRecords = larger(partition.lagRecords, other.lagRecords)
        partition.waitingRecords = larger(partition.waitingRecords, other.waitingRecords)
        partition.behindTopics = max(partition.behindTopics, other.behindTopics)
        partition.isStanding = partition.isStanding || other.isStanding
    }
}
