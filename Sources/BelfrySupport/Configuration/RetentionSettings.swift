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

    static let ages = Duration.seconds(3600)...(.seconds(36_500 * 86_400))

    public init() {}

    package var rule: RetentionRule {
        RetentionRule(tombstoneSeconds: tombstones.components.seconds, idleSeconds: idle.components.seconds)
    }
}
