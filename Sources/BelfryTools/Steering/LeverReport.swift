import BelfrySupport

/// The result of a command that sets a lever.
public struct LeverReport: Equatable, Sendable {
    /// One for each environment.
    let lines: [LeverLine]
    /// Partitions of push.requests whose ends are part of an order to discard; 0: it is none.
    var partitions = 0
    /// An order for all that is there now: it holds for records of publishers whose clocks are ahead.
    var allowsForClocks = false
    /// The time of the order, UNIX milliseconds.
    var orderedAt: Int64

    /// One JSON object a line.
    public var json: String { lines.map(\.json.text).joined(separator: "\n") }

    /// Sentences: the position of the lever, from when it holds, and the way to see that it does.
    public var text: String {
        var text = lines.map { line in
            let place = "\(line.name.bundleID) in \(line.name.environment)"
            return line.wasSet == false ? "\(place): \(line.position), as before" : "\(place): \(line.position)"
        }
        guard lines.contains(where: { $0.wasSet != false }) else { return text.joined(separator: "\n") }
        text.append("workers do so within 2 seconds")
        if partitions > 0, let bundleID = lines.first?.name.bundleID {
            text[text.endIndex - 1] += ", for requests that lie in \(counted(partitions, "partition")) now"
            if allowsForClocks { text[text.endIndex - 1] += "; publishers' clocks may be 5 minutes ahead" }
            let since = UTCTimestamp.text(unixMilliseconds: orderedAt)
            text.append("the requests that end so: belfry outcomes --app \(bundleID) --kind aborted --since \(since)")
        }
        return text.joined(separator: "\n")
    }
}
