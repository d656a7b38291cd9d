import Logging
import Synchronization

/// The level of a log, which may change while loggers are in use. From any thread.
final class LogLevelSwitch: Sendable {
    /// The place of the level among all, least severe first.
    private let place: Atomic<Int>

    init(_ level: Logger.Level) {
        place = Atomic(Self.place(of: level))
    }

    var value: Logger.Level {
        get { Logger.Level.allCases[place.load(ordering: .relaxed)] }
        set { place.store(Self.place(of: newValue), ordering: .relaxed) }
    }

    private static func place(of level: Logger.Level) -> Int { Logger.Level.allCases.firstIndex(of: level) ?? 0 }
}
