import Foundation
import LocalPipeline

/// The result of one scenario.
struct IsolationReport: Sendable {
    /// The return of a topic that was away.
    struct Comeback: Equatable, Sendable {
        /// Notifications published while it was away.
        var notifications: Int
        /// Accepted a second, the take-over aside, and of the same topic without lag.
        var rate: Double
        var liveRate: Double
        var lost: Int
        var duplicates: Int
        var disordered: Int

        var ratio: Double { liveRate > 0 ? rate / liveRate : 0 }
    }

    var transport = PipelineTransport.binary
    var scenario: String
    var sickness: Sickness?
    /// Of measuring, the take-over aside.
    var seconds = 0.0
    /// Notifications of the healthy topic accepted a second.
    var rate = 0.0
    var rateAlone: Double?
    var p50Milliseconds: Double?
    var p99Milliseconds: Double?
    var p99AloneMilliseconds: Double?
    /// From the kill until something of every partition was accepted that was published after it.
    var takeoverSeconds = 0.0
    /// From the kill until what had piled up was gone; nil if that was not seen.
    var catchUpSeconds: Double?
    var sessionSeconds = 0
    /// Notifications of the healthy topic that were not accepted.
    var lost = 0
    var duplicates = 0
    var disordered = 0
    var tombstones = 0
    var deadLetters = 0
    var deadLetterBytesRatio = 0.0
    /// Notifications of the sick topic.
    var sickOffered = 0
    var sickAccepted = 0
    /// In all partitions.
    var sickQueue = 0
    var sickConnections = 0
    var comeback: Comeback?

    var rateRatio: Double? { rateAlone.map { $0 > 0 ? rate / $0 : 0 } }
    var missed: [String] { Bounds.missed(by: self) }

    /// One line for programs.
    func line() throws -> String {
        let fields = Fields(
            transport: transport.rawValue,
            scenario: scenario,
            passed: missed.isEmpty,
            missed: missed,
            seconds: Self.rounded(seconds, 1),
            rate: Self.rounded(rate, 0),
            rateRatio: rateRatio.map { Self.rounded($0, 3) },
            p50: p50Milliseconds.map { Self.rounded($0, 1) },
            p99: p99Milliseconds.map { Self.rounded($0, 1) },
            p99Alone: p99AloneMilliseconds.map { Self.rounded($0, 1) },
            takeoverSeconds: Self.rounded(takeoverSeconds, 1),
            catchUpSeconds: catchUpSeconds.map { Self.rounded($0, 1) },
            lost: lost,
            duplicates: duplicates,
            orderViolations: disordered + (comeback?.disordered ?? 0),
            tombstones: tombstones,
            deadLetters: deadLetters,
            deadLetterBytesRatio: Self.rounded(deadLetterBytesRatio, 2),
            sickOffered: sickOffered,
            sickAccepted: sickAccepted,
            sickQueue: sickQueue,
            sickConnections: sickConnections,
            returned: comeback?.notifications,
            returnRatio: comeback.map { Self.rounded($0.ratio, 3) },
            returnRate: comeback.map { Self.rounded($0.rate, 0) },
            liveRate: comeback.map { Self.rounded($0.liveRate, 0) },
            returnLost: comeback?.lost,
            returnDuplicates: comeback?.duplicates
        )
        return try Self.encode(fields)
    }

    /// The last line of a run.
    static func lastLine(_ reports: [IsolationReport]) throws -> String {
        let missed = reports.filter { !$0.missed.isEmpty }.map(\.scenario)
        return try encode(Summary(scenario: "all", passed: missed.isEmpty, scenarios: reports.count, missed: missed))
    }

    static func encode(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    static func rounded(_ value: Double, _ digits: Int) -> Decimal {
        // A Decimal prints the digits meant, a Double sometimes many more.
        Decimal(string: String(format: "%.\(digits)f", value)) ?? 0
    }

    private struct Summary: Encodable {
        let scenario: String
        let passed: Bool
        let scenarios: Int
        let missed: [String]
    }

    private struct Fields: Encodable {
        let transport: String
        let scenario: String
        let passed: Bool
        let missed: [String]
        let seconds: Decimal
        let rate: Decimal
        let rateRatio: Decimal?
        let p50: Decimal?
        let p99: Decimal?
        let p99Alone: Decimal?
        let takeoverSeconds: Decimal
        let catchUpSeconds: Decimal?
        let lost: Int
        let duplicates: Int
        let orderViolations: Int
        let tombstones: Int
        let deadLetters: Int
        let deadLetterBytesRatio: Decimal
        let sickOffered: Int
        let sickAccepted: Int
        let sickQueue: Int
        let sickConnections: Int
        let returned: Int?
        let returnRatio: Decimal?
        let returnRate: Decimal?
        let liveRate: Decimal?
        let returnLost: Int?
        let returnDuplicates: Int?

        enum CodingKeys: String, CodingKey {
            case transport, scenario, passed, missed, seconds, rate, lost, duplicates, tombstones, returned
            case rateRatio = "rate_ratio"
            case p50 = "p50_ms"
            case p99 = "p99_ms"
            case p99Alone = "p99_alone_ms"
            case takeoverSeconds = "takeover_seconds"
            case catchUpSeconds = "catch_up_seconds"
            case orderViolations = "order_violations"
            case deadLetters = "dead_letters"
            case deadLetterBytesRatio = "dead_letter_bytes_ratio"
            case sickOffered = "sick_offered"
            case sickAccepted = "sick_accepted"
            case sickQueue = "sick_queue"
            case sickConnections = "sick_connections"
            case returnRatio = "return_ratio"
            case returnRate = "return_rate"
            case liveRate = "live_rate"
            case returnLost = "return_lost"
            case returnDuplicates = "return_duplicates"
        }
    }
}
