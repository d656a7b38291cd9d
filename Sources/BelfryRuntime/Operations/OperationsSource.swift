/// What a role tells those who operate it. Called from any thread, as often as somebody asks.
public protocol OperationsSource: Sendable {
    func metrics() async -> [MetricFamily]
    func readiness() async -> Readiness
}

/// Whether a role does its work, and if not, what it waits for.
public struct Readiness: Sendable, Equatable {
    /// What keeps it from its work, in words for people; empty: it is ready.
    public var obstacles: [String]

    public init(obstacles: [String] = []) {
        self.obstacles = obstacles
    }

    public var isReady: Bool { obstacles.isEmpty }
}
