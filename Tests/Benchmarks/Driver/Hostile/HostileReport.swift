import Foundation

/// The result of one case, or of all.
struct HostileReport: Equatable {
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
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        let fields = Fields(
            name: name,
            records: records,
            recordBytes: recordBytes,
            worst: Self.rounded(worstMilliseconds, 2),
            healthy: Self.rounded(healthyMilliseconds, 1),
            countedRatio: Self.rounded(countedRatio, 2),
            deadLetterRatio: Self.rounded(deadLetterRatio, 3),
            passed: passed
        )
        return String(decoding: try encoder.encode(fields), as: UTF8.self)
    }

    private static func rounded(_ value: Double?, _ digits: Int) -> Decimal? {
        // A Decimal prints the digits meant, a Double sometimes many more.
        value.flatMap { Decimal(string: String(format: "%.\(digits)f", $0)) }
    }

    private struct Fields: Encodable {
        let name: String
        let records: Int
        let recordBytes: Int
        let worst: Decimal?
        let healthy: Decimal?
        let countedRatio: Decimal?
        let deadLetterRatio: Decimal?
        let passed: Bool

        enum CodingKeys: String, CodingKey {
            case records, passed
            case name = "case"
            case recordBytes = "record_bytes"
            case worst = "worst_ms"
            case healthy = "healthy_ms"
            case countedRatio = "counted_ratio"
            case deadLetterRatio = "dead_letter_bytes_per_record_byte"
        }
    }
}
