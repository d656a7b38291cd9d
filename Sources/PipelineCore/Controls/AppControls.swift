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

    /// Topics with a lever that is set.
    public private(set) var all: [Name: AppControl] = [:]

    public init() {}

    public subscript(name: Name) -> AppControl { all[name] ?? AppControl() }

    /// Levers that are set, by their kinds; each kind is there.
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
    /// - Parameter setting: nil: the lever is off.
    public mutating func set(_ lever: AppControl.Lever, of name: Name, _ setting: AppControl.Setting?) {
        var control = self[name]
        control.set(lever, setting)
        all[name] = control == AppControl() ? nil : control
    }
}
