import PipelineCore

/// For how long the token state is kept; the registrar sweeps what is older.
public struct RetentionSettings: Sendable, Equatable {
    /// Time for which a dead token is remembered; zero: always. Longer than a registration may be late.
    public var tombstones = Duration.seconds(90 * 86_400)
    /// Time for which an idle living token is remembered; zero: always. Idle: its app neither registers nor tells of
    /// its device.
    public var idle = Duration.zero
    /// Tokens looked at per second.
    public var rate = 10_000

    public init() {}

    package var rule: RetentionRule {
        RetentionRule(tombstoneSeconds: tombstones.components.seconds, idleSeconds: idle.components.seconds)
    }
}

extension RetentionSettings {
    init(reading section: ConfigurationSection) {
        self.init()
        tombstones = Self.age("tombstones", in: section, default: tombstones)
        idle = Self.age("idle", in: section, default: idle)
        rate = section.integer("rate", in: 1...10_000_000, default: rate)
        section.reportUnknownKeys()
    }

    /// Zero, or long enough that a mistyped unit does not empty the token state.
    private static func age(_ key: String, in section: ConfigurationSection, default standard: Duration) -> Duration {
        section.value(key, default: standard, allowed: "0s (keep), or a duration of 1h...36500d") {
            DurationText.shown($0)
        } parse: { text in
            DurationText.parse(text).flatMap {
                $0 == .zero || ($0 >= .seconds(3600) && $0 <= .seconds(36_500 * 86_400)) ? $0 : nil
            }
        }
    }
}
