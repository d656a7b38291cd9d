import Logging
import Synchronization

/// The level of a log, which may change while loggers are in use. From any thread.
final class LogLevelSwitch: Sendable {
    /// Least severe first. Made once: every log call asks.
    private static let levels = Logger.Level.allCases
    /// The place of the level among them.
    private let place: Atomic<Int>

    init(_ level: Logger.Level) {
        place = Atomic(Self.place(of: level))
    }

    var value: Logger.Level {
        get { Self.levels[place.load(ordering: .relaxed)] }
        set { place.store(Self.place(of: newValue), ordering: .relaxed) }
    }

    private static func place(of level: Logger.Level) -> Int { levels.firstIndex(of: level) ?? 0 }
}
