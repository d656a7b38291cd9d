import KafkaClient
import Logging
import PipelineCore

/// Counts fetches whose bytes cannot be read, and tells of them within a budget of lines: each is repeated at once, and
/// a disk that is damaged stays so.
package struct CorruptFetches {
    /// Since the start.
    package private(set) var count = 0
    private var budget = LineBudget(burst: 10, perSecond: 1, now: MonotonicTime(nanoseconds: 0))

    package init() {}

    /// Notes an error that came in place of a message, if it is one of these.
    ///
    /// - Returns: false: it is another one, and the caller's to tell.
    package mutating func note(
        _ error: KafkaError,
        of place: KafkaTopicPartition,
        offset: Int64,
        now: MonotonicTime,
        logger: Logger
    ) -> Bool {
        guard error.isCorruption else { return false }
        count += 1
        guard let passedOver = budget.take(now: now) else { return true }
        logger.error(
            "fetched records are corrupt; fetching them again",
            metadata: [
                "source": "\(place.topic)", "partition": "\(place.partition)", "offset": "\(offset)",
                "error": "\(error)", "passed-over": "\(passedOver)",
            ]
        )
        return true
    }
}
