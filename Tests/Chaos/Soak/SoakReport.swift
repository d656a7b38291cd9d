import Foundation
import Workbench

/// The result of a long run without disturbances.
struct SoakReport {
    /// The fields of ``line()`` for the help.
    static let fields = HelpTable(
        "Fields of the last line of --soak, with what is judged",
        """
        minutes, notifications: Of publishing; in the log.
        lost: 0, and all that chaos judges.
        memory_slope_mib_per_hour, memory_mib: By process: the slope of the line of least squares, and the mean. Along \
        the line memory grows by at most 4 MiB, or 3 % of the mean, from the middle to the end.
        memory_left_behind_mib: By process: the growth of memory along the line through the samples while no campaign \
        was under way; the same bound: a topic whose campaign has drained leaves none behind.
        memory_judged: false: the run was shorter than five minutes, and memory is told alone.
        descriptors: By process: in the middle of the run, and at its end: at most 8 more.
        passed: The verdict.
        """
    )

    var seconds: Int
    var notifications: Int
    /// See ``ChaosReport/lost``.
    var lost: Int
    /// The verdict on everything but memory and descriptors.
    var isCorrect: Bool
    /// By process.
    var trends: [String: SoakTrend]
    /// By process, of the samples after campaigns that had drained.
    var drained: [String: SoakTrend]

    /// A shorter run says nothing about memory: it is told and not judged.
    static let judgedSeconds = 300

    init(_ report: ChaosReport, samples: [String: [SoakSample]], drained: [String: [SoakSample]]) {
        self.init(
            seconds: report.seconds,
            notifications: report.books.published,
            lost: report.lost,
            isCorrect: report.passes,
            trends: samples.compactMapValues { SoakTrend($0) },
            drained: drained.compactMapValues { SoakTrend($0) }
        )
    }

    init(
        seconds: Int,
        notifications: Int,
        lost: Int,
        isCorrect: Bool,
        trends: [String: SoakTrend],
        drained: [String: SoakTrend]
    ) {
        self.seconds = seconds
        self.notifications = notifications
        self.lost = lost
        self.isCorrect = isCorrect
        self.trends = trends
        self.drained = drained
    }

    var passes: Bool { isCorrect && lost == 0 && complaints.isEmpty }

    var complaints: [String] {
        guard !trends.isEmpty else { return ["no process was looked at: this run proves nothing"] }
        return trends.sorted { $0.key < $1.key }.flatMap { name, trend in
            var complaints: [String] = []
            if seconds >= Self.judgedSeconds, !trend.isMemoryFlat {
                complaints.append("\(name): its memory grew by \(Self.rounded(trend.growth)) MiB in the second half")
            }
            if seconds >= Self.judgedSeconds { complaints += self.complaints(afterCampaigns: name) }
            if !trend.areDescriptorsFlat {
                let (first, last) = (trend.descriptors[0], trend.descriptors[1])
                complaints.append("\(name): its descriptors went from \(first) to \(last)")
            }
            return complaints
        }
    }

    /// A topic whose campaign has drained is to leave no memory behind.
    private func complaints(afterCampaigns name: String) -> [String] {
        guard let trend = drained[name] else { return ["\(name): no campaign had drained before the next one came"] }
        guard !trend.isMemoryFlat else { return [] }
        return ["\(name): campaigns of one topic after the other left \(Self.rounded(trend.growth)) MiB behind"]
    }

    /// One line for programs.
    func line() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        let fields = Fields(
            minutes: Self.rounded(Double(seconds) / 60),
            notifications: notifications,
            lost: lost,
            memorySlopes: trends.mapValues { Self.rounded($0.slopePerHour) },
            memory: trends.mapValues { Self.rounded($0.resident) },
            leftBehind: drained.mapValues { Self.rounded($0.growth) },
            isMemoryJudged: seconds >= Self.judgedSeconds,
            descriptors: trends.mapValues(\.descriptors),
            passed: passes
        )
        return String(decoding: try encoder.encode(fields), as: UTF8.self)
    }

    /// To a tenth.
    private static func rounded(_ number: Double) -> Double { (number * 10).rounded() / 10 }

    private struct Fields: Encodable {
        let minutes: Double
        let notifications: Int
        let lost: Int
        let memorySlopes: [String: Double]
        let memory: [String: Double]
        let leftBehind: [String: Double]
        let isMemoryJudged: Bool
        let descriptors: [String: [Int]]
        let passed: Bool

        enum CodingKeys: String, CodingKey {
            case minutes, notifications, lost, descriptors, passed
            case memorySlopes = "memory_slope_mib_per_hour"
            case memory = "memory_mib"
            case leftBehind = "memory_left_behind_mib"
            case isMemoryJudged = "memory_judged"
        }
    }
}
