import BelfrySupport
import PipelineCore
import PushTopics
import RequestLanes

/// A lever as `belfry apps` prints it.
struct LeverLine: Equatable, Sendable {
    var name: AppControls.Name
    /// Nil: its record names none.
    var lane: RequestLane?
    var lever: AppControl.Lever
    /// Nil: the lever is off.
    var setting: AppControl.Setting?
    var reason = ""
    /// The time of the record, UNIX milliseconds; nil: the log does not tell.
    var setAt: Int64?
    /// The lever was set before an order that takes it off, or leaves it as it is; nil: neither.
    var wasSet: Bool?

    var scope: AppControls.Scope { .init(name, lane: lane) }

    /// A lever that is set so holds in the lane. Of two paces that of the lane alone goes first.
    func holds(in lane: RequestLane) -> Bool { self.lane == lane || (self.lane == nil && lever.holds(in: lane)) }

    /// One JSON object; members that do not apply are left out.
    var json: JSONLine {
        var line = JSONLine()
        line.append("bundle", name.bundleID)
        line.append("environment", name.environment)
        if let lane { line.append("lane", lane.rawValue) }
        line.append("lever", lever.rawValue)
        line.append("set", setting != nil)
        if let wasSet { line.append("was_set", wasSet) }
        switch setting {
        case .pace(let rate): line.append("notifications_per_second", rate)
        case .discard(let order):
            line.append("before", UTCTimestamp.text(unixMilliseconds: order.publishedBefore))
            line.append(
                "ends",
                order.ends.sorted { $0.key < $1.key }.map { partition, offset in
                    var end = JSONLine()
                    end.append("partition", partition)
                    end.append("offset", offset)
                    return end
                }
            )
        case .pause, nil: break
        }
        if let setAt { line.append("set_at", UTCTimestamp.text(unixMilliseconds: setAt)) }
        if !reason.isEmpty { line.append("reason", reason) }
        return line
    }

    /// Five columns that are always there: time, bundle, environment, the lever's position, reason.
    var text: String {
        [
            setAt.map { UTCTimestamp.text(unixMilliseconds: $0) } ?? "", name.bundleID, name.environment, position,
            reason,
        ].map(TerminalText.column).joined(separator: "  ")
    }

    /// The lever, its lane if it names one, and its position in words.
    var position: String {
        let place = lane.map { " in lane \($0.rawValue)" } ?? ""
        return switch setting {
        case .pause: "paused\(place)"
        case .pace(let rate): "at most \(rate)/s\(place)"
        case .discard(let order):
            "discards\(place) what was published before \(UTCTimestamp.text(unixMilliseconds: order.publishedBefore))"
        case nil:
            switch lever {
            case .pause: "not paused\(place)"
            case .pace: "no pace\(place)"
            case .discard: "discards nothing\(place)"
            }
        }
    }
}
