import BelfrySupport
import PipelineCore
import RequestLanes

/// The result of a command that sets a lever.
public struct LeverReport: Equatable, Sendable {
    /// One for each record: of an environment, or of one of its lanes.
    let lines: [LeverLine]
    /// Levers that the order has left as they were, and that hold in a lane that it means.
    var remaining: [LeverLine] = []
    /// Partitions whose ends are part of an order to discard; 0: it is none.
    var partitions = 0
    /// The Kafka topics of the partitions.
    var kafkaTopics: [String] = []
    /// An order for all that is there now: it holds for records of publishers whose clocks are ahead.
    var allowsForClocks = false
    /// The time of the order, UNIX milliseconds.
    var orderedAt: Int64

    /// One JSON object a line.
    public var json: String { (lines + remaining).map(\.json.text).joined(separator: "\n") }

    /// Sentences: the position of the lever, from when it holds, and the way to see that it does.
    public var text: String {
        var text = lines.map { line in
            "\(place(line)): \(line.position)" + (line.wasSet == false ? ", as before" : "")
        }
        text += remaining.map { "\(place($0)): still \($0.position)" }
        guard lines.contains(where: { $0.wasSet != false }) else { return text.joined(separator: "\n") }
        text.append("workers do so within 2 seconds")
        if let line = lines.first, case .pace = line.setting, line.lane == nil {
            text[text.endIndex - 1] += ", in the lanes \(lanes(of: line.lever)) each by itself"
        }
        if partitions > 0, let bundleID = lines.first?.name.bundleID {
            text[text.endIndex - 1] += ", for requests that lie in \(counted(partitions, "partition")) now"
            if allowsForClocks { text[text.endIndex - 1] += "; publishers' clocks may be 5 minutes ahead" }
            text.append("the partitions are those of \(kafkaTopics.joined(separator: ", "))")
            let since = UTCTimestamp.text(unixMilliseconds: orderedAt)
            text.append("the requests that end so: belfry outcomes --app \(bundleID) --kind aborted --since \(since)")
        }
        return text.joined(separator: "\n")
    }

    private func place(_ line: LeverLine) -> String { "\(line.name.bundleID) in \(line.name.environment)" }

    /// The lanes in which a lever holds that names none.
    private func lanes(of lever: AppControl.Lever) -> String {
        RequestLane.allCases.filter(lever.holds(in:)).map(\.rawValue).joined(separator: " and ")
    }
}
