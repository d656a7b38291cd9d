import BelfrySupport
import PipelineCore
import PushSchemas
import RequestLanes

/// An order to `belfry apps pause`, `resume`, `pace` or `discard`.
public struct LeverOrder: Equatable, Sendable {
    /// The lever, and its new position.
    public enum Change: Equatable, Sendable {
        case pause
        case resume
        case pace(notificationsPerSecond: Int)
        case paceOff
        /// Requests published before this time end, UNIX milliseconds; nil: all that are in Kafka now.
        case discard(before: Int64?)
        case discardOff
    }

    public var bundleID: String
    /// Names of the configuration.
    public var environments: [String]
    /// Nil: none was named. A pause then holds in all lanes, a pace in normal and bulk, a discard in each that has a
    /// Kafka topic; what is taken off is off in all of them.
    public var lane: RequestLane?
    public var change: Change
    /// For people; empty: none.
    public var reason: String

    /// A line for standard error: the bundle ID may be spelled wrong. The order holds nevertheless.
    let doubt: String?

    package static let paces = 1...10_000_000
    /// Publishers' clocks may be ahead of this machine's: an order for all that is there now goes by times up to this.
    /// The ends of the partitions keep it from what comes later.
    static let clockMarginMilliseconds: Int64 = 300_000
    /// Most characters of a reason.
    package static let reasonLimit = 200

    /// - Parameter environment: nil: every environment of the configuration.
    /// - Throws: `ToolError.invalidInput`: the configuration has no such environment.
    public init(
        _ change: Change,
        of bundleID: String,
        environment: String?,
        lane: RequestLane? = nil,
        reason: String = "",
        configuration: BelfryConfiguration
    ) throws(ToolError) {
        let all = configuration.environments.map(\.name)
        if let environment, !all.contains(environment) {
            throw .invalidInput(["environment: found \"\(environment)\"; allowed: \(all.joined(separator: ", "))"])
        }
        environments = environment.map { [$0] } ?? all
        self.bundleID = bundleID
        self.lane = lane
        doubt = BundleDoubt.text(of: bundleID, configuration)
        self.change = change
        self.reason = reason
    }

    /// Checks what was typed.
    ///
    /// - Parameter now: UNIX milliseconds.
    /// - Throws: `ToolError.invalidInput`, one line for each fault.
    func check(now: Int64) throws(ToolError) {
        var faults: [String] = []
        if let error = PublishOrder.faults(bundleID: bundleID, spread: 1).first { faults.append(error) }
        switch change {
        case .pace(let rate) where !Self.paces.contains(rate):
            faults.append("rate: found \(rate); allowed: \(Self.paces.allowedText)")
        case .discard(let time?) where time > now:
            let (found, latest) = (UTCTimestamp.text(unixMilliseconds: time), UTCTimestamp.text(unixMilliseconds: now))
            faults.append("before: found \(found), in the future; allowed: at most \(latest), which is now")
        default: break
        }
        if reason.count > Self.reasonLimit {
            faults.append("reason: found \(reason.count) characters; allowed: at most \(Self.reasonLimit)")
        }
        guard faults.isEmpty else { throw .invalidInput(faults) }
    }

    var lever: AppControl.Lever {
        switch change {
        case .pause, .resume: .pause
        case .pace, .paceOff: .pace
        case .discard, .discardOff: .discard
        }
    }

    /// The levers that the order sets or takes off, one for each record that it publishes.
    ///
    /// - Parameters:
    ///   - ends: the ends of the partitions of each lane, which only an order to discard needs.
    ///   - known: levers that are set, for an order with ``needsLevers``.
    ///   - now: UNIX milliseconds.
    func lines(ends: [RequestLane: [Int32: Int64]], known: [LeverLine], now: Int64) -> [LeverLine] {
        environments.flatMap { environment in
            let name = AppControls.Name(environment: environment, bundleID: bundleID)
            let set = Set(known.filter { $0.name == name && $0.lever == lever }.map(\.lane))
            return recordLanes(Set(ends.keys), set: set).map { lane in
                let setting = setting(ends: ends[lane ?? .normal] ?? [:], now: now)
                return LeverLine(
                    name: name,
                    lane: lane,
                    lever: lever,
                    setting: setting,
                    reason: setting == nil ? "" : reason,
                    wasSet: setting == nil ? set.contains(lane) : nil
                )
            }
        }
    }

    /// Levers that are set, that the order leaves as they are, and that go on to hold in a lane that it means.
    ///
    /// - Parameter known: as in ``lines(ends:known:now:)``.
    func remaining(_ known: [LeverLine]) -> [LeverLine] {
        let others = known.filter {
            $0.name.bundleID == bundleID && environments.contains($0.name.environment) && $0.lever == lever
        }
        let remaining: [LeverLine] =
            switch (change, lane) {
            // A lane's own pace goes before that of all.
            case (.pace, nil): others.filter { $0.lane.map(lever.holds(in:)) ?? false }
            case (.resume, let lane?), (.paceOff, let lane?), (.discardOff, let lane?):
                // A discard of the normal lane names none, and is the one that is taken off.
                others.filter { $0.lane == nil && lever.named(for: lane) != nil && $0.holds(in: lane) }
            default: []
            }
        return remaining.map { line in
            var line = line
            line.wasSet = true
            return line
        }
    }

    /// The lanes that the order's records name, in the order of lanes; nil: a record that names none.
    ///
    /// - Parameters:
    ///   - discarded: lanes in which an order to discard holds.
    ///   - set: those of levers of the same kind that are set.
    private func recordLanes(_ discarded: Set<RequestLane>, set: Set<RequestLane?>) -> [RequestLane?] {
        switch change {
        case .pause, .pace: [lane]
        case .discard: discarded.sorted().map(lever.named(for:))
        case .resume, .paceOff, .discardOff:
            if let lane {
                [lever.named(for: lane)]
            } else {
                [nil] + RequestLane.allCases.filter { set.contains($0) }.map(Optional.some)
            }
        }
    }

    /// The new position of the lever; nil: off.
    ///
    /// - Parameters:
    ///   - ends: the ends of the partitions of the lane, which only an order to discard needs.
    ///   - now: UNIX milliseconds.
    func setting(ends: [Int32: Int64], now: Int64) -> AppControl.Setting? {
        switch change {
        case .pause: .pause
        case .pace(let rate): .pace(notificationsPerSecond: UInt32(clamping: rate))
        case .discard(let time):
            .discard(.init(publishedBefore: time ?? now + Self.clockMarginMilliseconds, ends: ends))
        case .resume, .paceOff, .discardOff: nil
        }
    }

    var needsEnds: Bool {
        if case .discard = change { return true }
        return false
    }

    /// The levers that are set decide what is published, or what is told. A pause must not wait for them.
    var needsLevers: Bool {
        switch change {
        case .pause, .discard: false
        case .pace: lane == nil
        case .resume, .paceOff, .discardOff: true
        }
    }
}
