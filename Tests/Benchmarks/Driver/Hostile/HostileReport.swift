import Workbench

/// The result of one case, or of all.
struct HostileReport: Equatable {
    /// The fields for the help.
    static let fields = HelpTable(
        "Fields of its lines of JSON, with their targets",
        """
        case, records, record_bytes: The case, or total; its records, and their keys, values and headers.
        worst_ms: Bound of the longest hold of the shard's loop, of belfry_tick_delay_seconds: 50.
        healthy_ms: Longest time until the healthy topic's next notification was accepted.
        counted_ratio: Bytes that the worker counts of what waits (belfry_topic_held_bytes), by the growth of its \
        resident set: 0.8.
        dead_letter_bytes_per_record_byte: Bytes of dead letters, by record_bytes.
        passed: The judgement.
        """
    )

    /// Longest hold of a shard's loop that is no miss.
    static let worstMilliseconds = 50.0
    /// Least share of a worker's growth that it counts.
    static let countedRatio = 0.8

    var name: String
    var records = 0
    /// Of them: keys, values and headers.
    var recordBytes = 0
    /// Upper bound of the longest hold of the shard's loop while the records came; nil: not judged.
    var worstMilliseconds: Double?
    /// Longest time from a healthy topic's record behind a hostile one to its acceptance.
    var healthyMilliseconds: Double?
    /// Bytes that the worker counts of what waits, by the growth of its resident set; nil: not judged.
    var countedRatio: Double?
    /// Of all dead letters of the case: keys, values and headers.
    var deadLetterBytes = 0

    /// Nil: not known, without records.
    var deadLetterRatio: Double? { recordBytes > 0 ? Double(deadLetterBytes) / Double(recordBytes) : nil }

    var passed: Bool {
        (worstMilliseconds ?? 0) <= Self.worstMilliseconds && (countedRatio ?? .infinity) >= Self.countedRatio
    }

    /// The worst of several cases, and the sums.
    static func total(of reports: [HostileReport]) -> HostileReport {
        HostileReport(
            name: "total",
            records: reports.reduce(0) { $0 + $1.records },
            recordBytes: reports.reduce(0) { $0 + $1.recordBytes },
            worstMilliseconds: reports.compactMap(\.worstMilliseconds).max(),
            healthyMilliseconds: reports.compactMap(\.healthyMilliseconds).max(),
            countedRatio: reports.compactMap(\.countedRatio).min(),
            deadLetterBytes: reports.reduce(0) { $0 + $1.deadLetterBytes }
        )
    }

    /// One line for programs.
    func line() throws -> String {
        var line = ResultLine()
        line.add("case", name)
        line.add("records", records)
        line.add("record_bytes", recordBytes)
        line.add("worst_ms", worstMilliseconds, digits: 2)
        line.add("healthy_ms", healthyMilliseconds, digits: 1)
        line.add("counted_ratio", countedRatio, digits: 2)
        line.add("dead_letter_bytes_per_record_byte", deadLetterRatio, digits: 3)
        line.add("passed", passed)
        return try line.text()
    }
}
