import LocalPipeline
import Workbench

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

    /// The fields for the help.
    static let fields = HelpTable(
        "Fields of the scenarios' lines, and of the last one, with their bounds",
        """
        scenario, transport, seconds: The scenario, or all; binary or http2; the time of measuring, without the \
        take-over.
        passed, missed, scenarios: The judgement, and the bounds that were not kept; in the last line the scenarios \
        that missed one, and the number of all.
        rate, rate_ratio: The healthy topic's notifications a second, and the ratio to alone: 0.95.
        p50_ms, p99_ms, p99_alone_ms: Its latency. p99: twice that of alone, or 50.
        takeover_seconds: From the kill until something newer of every partition was accepted: session + 5.
        catch_up_seconds: From the kill until what had piled up was gone: seen.
        lost, duplicates, order_violations: Of the healthy topic: lost 0; order in return 0.
        tombstones: 0 in invalid-100.
        dead_letters, dead_letter_bytes_ratio: Dead letters, and their bytes against those of the records: 2.
        sick_offered, sick_accepted, sick_queue, sick_connections: Of the sick topic: 20,000 a second, and 10 queues, \
        are offered.
        returned, return_rate, live_rate, return_ratio: Of the topic that comes back: its rate against that without \
        lag: 0.7.
        return_lost, return_duplicates: Of the same: return_lost 0.
        """
    )

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
        var line = ResultLine(scenario: scenario)
        line.judge(missed: missed)
        line.add("transport", transport.rawValue)
        line.add("seconds", seconds, digits: 1)
        line.add("rate", rate, digits: 0)
        line.add("rate_ratio", rateRatio, digits: 3)
        line.add("p50_ms", p50Milliseconds, digits: 1)
        line.add("p99_ms", p99Milliseconds, digits: 1)
        line.add("p99_alone_ms", p99AloneMilliseconds, digits: 1)
        line.add("takeover_seconds", takeoverSeconds, digits: 1)
        line.add("catch_up_seconds", catchUpSeconds, digits: 1)
        line.add("lost", lost)
        line.add("duplicates", duplicates)
        line.add("order_violations", disordered + (comeback?.disordered ?? 0))
        line.add("tombstones", tombstones)
        line.add("dead_letters", deadLetters)
        line.add("dead_letter_bytes_ratio", deadLetterBytesRatio, digits: 2)
        line.add("sick_offered", sickOffered)
        line.add("sick_accepted", sickAccepted)
        line.add("sick_queue", sickQueue)
        line.add("sick_connections", sickConnections)
        line.add("returned", comeback?.notifications)
        line.add("return_ratio", comeback?.ratio, digits: 3)
        line.add("return_rate", comeback?.rate, digits: 0)
        line.add("live_rate", comeback?.liveRate, digits: 0)
        line.add("return_lost", comeback?.lost)
        line.add("return_duplicates", comeback?.duplicates)
        return try line.text()
    }

    /// The last line of a run.
    static func lastLine(_ reports: [IsolationReport]) throws -> String {
        var line = ResultLine(scenario: "all")
        line.judge(missed: reports.filter { !$0.missed.isEmpty }.map(\.scenario))
        line.add("scenarios", reports.count)
        return try line.text()
    }
}
