import ArgumentParser

/// The limits of the broker that `Servers.startFrontBroker` starts: it keeps 8 MiB of a partition, and drops the oldest
/// silently.
enum FrontBroker {
    static let keptMiB = 8
    /// Of one token each, that fill half of what is kept of a partition. Keys may spread unevenly.
    static let notificationsPerPartition = 20_000
    /// The same of registrations.
    static let registrationsPerPartition = 40_000

    /// Checks an option that says how many records wait at the broker.
    ///
    /// - Parameters:
    ///   - range: that it may have with any number of partitions.
    ///   - perPartition: the largest value whose records fit a partition.
    static func check(
        _ option: String,
        _ value: Int,
        in range: ClosedRange<Int>,
        partitions: Int,
        perPartition: Int
    ) throws {
        let most = min(range.upperBound, partitions * perPartition)
        guard value >= range.lowerBound, value <= most else {
            let reason = ", since the broker keeps \(keptMiB) MiB of each of \(partitions) partitions"
            throw ValidationError(
                "\(option): \(range.lowerBound)...\(most), not \(value)\(most < range.upperBound ? reason : "")"
            )
        }
    }
}
