import BelfrySupport
import PipelineCore
import PushSchemas

/// An order to `belfry apps pause`, `resume`, `pace` or `discard`.
public struct LeverOrder: Equatable, Sendable {
    /// The lever, and its new position.
    public enum Change: Equatable, Sendable {
        case pause
        case resume
        case pace(notificationsPerSecond: Int)
        case paceOff
        /// Requests published before this time end, UNIX milliseconds; nil: all that are in push.requests now.
        case discard(before: Int64?)
        case discardOff
    }

    public var bundleID: String
    /// Names of the configuration.
    public var environments: [String]
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
        reason: String = "",
        configuration: BelfryConfiguration
    ) throws(ToolError) {
        let all = configuration.environments.map(\.name)
        if let environment, !all.contains(environment) {
            throw .invalidInput(["environment: found \"\(environment)\"; allowed: \(all.joined(separator: ", "))"])
        }
        environments = environment.map { [$0] } ?? all
        self.bundleID = bundleID
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

    /// The new position of the lever; nil: off.
    ///
    /// - Parameters:
    ///   - ends: the ends of push.requests, which only an order to discard needs.
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
}
