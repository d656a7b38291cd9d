/// The levers of all topics, as read from push.controls.
public struct TopicControls: Equatable, Sendable {
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

    /// Topics with a lever that is set.
    public private(set) var all: [Name: TopicControl] = [:]

    public init() {}

    public subscript(name: Name) -> TopicControl { all[name] ?? TopicControl() }

    /// Levers that are set, by their kinds; each kind is there.
    public var counts: [TopicControl.Lever: Int] {
        var counts = Dictionary(uniqueKeysWithValues: TopicControl.Lever.allCases.map { ($0, 0) })
        for control in all.values {
            if control.isPaused { counts[.pause, default: 0] += 1 }
            if control.notificationsPerSecond != nil { counts[.pace, default: 0] += 1 }
            if control.discard != nil { counts[.discard, default: 0] += 1 }
        }
        return counts
    }

    /// Applies one record.
    ///
    /// - Parameter setting: nil: the lever is off.
    public mutating func set(_ lever: TopicControl.Lever, of name: Name, _ setting: TopicControl.Setting?) {
        var control = self[name]
        control.set(lever, setting)
        all[name] = control == TopicControl() ? nil : control
    }
}
