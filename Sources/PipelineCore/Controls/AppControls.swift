import RequestLanes

/// The levers of all topics, as read from push.controls.
public struct AppControls: Equatable, Sendable {
    /// A topic as its levers name it.
    public struct Name: Hashable, Sendable, Comparable {
        public var environment: String
        public var bundleID: String

        public init(environment: String, bundleID: String) {
            self.environment = environment
            self.bundleID = bundleID
        }

        public static func < (left: Name, right: Name) -> Bool {
            (left.environment, left.bundleID) < (right.environment, right.bundleID)
        }
    }

    /// A topic, or one lane of it: the extent that a record of push.controls names.
    public struct Scope: Hashable, Sendable, Comparable {
        public var name: Name
        /// Nil: the record names none; see ``AppControl/Lever/holds(in:)``.
        public var lane: RequestLane?

        public init(_ name: Name, lane: RequestLane? = nil) {
            self.name = name
            self.lane = lane
        }

        /// The topic stands before its lanes.
        public static func < (left: Scope, right: Scope) -> Bool {
            (left.name, left.lane?.rank ?? -1) < (right.name, right.lane?.rank ?? -1)
        }
    }

    /// Scopes with a lever that is set.
    public private(set) var all: [Scope: AppControl] = [:]

    public init() {}

    /// The levers whose records name this scope. ``control(of:in:)`` tells those that hold.
    public subscript(name: Name, lane: RequestLane? = nil) -> AppControl {
        all[Scope(name, lane: lane)] ?? AppControl()
    }

    /// The levers that hold for a topic in a lane: the lane's own before those that name none, and of pauses either.
    public func control(of name: Name, in lane: RequestLane) -> AppControl {
        let (own, common) = (self[name, lane], self[name])
        func inherited<Setting>(_ lever: AppControl.Lever, _ setting: Setting?) -> Setting? {
            lever.holds(in: lane) ? setting : nil
        }
        return AppControl(
            isPaused: own.isPaused || common.isPaused,
            notificationsPerSecond: own.notificationsPerSecond ?? inherited(.pace, common.notificationsPerSecond),
            discard: own.discard ?? inherited(.discard, common.discard)
        )
    }

    /// The levers that hold for a topic, by lane; a lane in which none holds is left out.
    public func controlsByLane(of name: Name) -> [RequestLane: AppControl] {
        guard !all.isEmpty else { return [:] }
        return RequestLane.allCases.reduce(into: [:]) { found, lane in
            let held = control(of: name, in: lane)
            if held != AppControl() { found[lane] = held }
        }
    }

    /// Levers that are set, by their kinds; each kind is there. Those of single lanes count by themselves.
    public var counts: [AppControl.Lever: Int] {
        var counts = Dictionary(uniqueKeysWithValues: AppControl.Lever.allCases.map { ($0, 0) })
        for control in all.values {
            if control.isPaused { counts[.pause, default: 0] += 1 }
            if control.notificationsPerSecond != nil { counts[.pace, default: 0] += 1 }
            if control.discard != nil { counts[.discard, default: 0] += 1 }
        }
        return counts
    }

    /// Applies one record.
    ///
    /// - Parameters:
    ///   - lane: nil: the record names none.
    ///   - setting: nil: the lever is off.
    public mutating func set(
        _ lever: AppControl.Lever,
        of name: Name,
        in lane: RequestLane? = nil,
        _ setting: AppControl.Setting?
    ) {
        var control = self[name, lane]
        control.set(lever, setting)
        all[Scope(name, lane: lane)] = control == AppControl() ? nil : control
    }
}
