/// Tells that a role does its work, or what it waits for.
public struct Readiness: Sendable, Equatable {
    /// A thing without which a role does not work; metrics have its name.
    public enum Dependency: String, Sendable, CaseIterable {
        /// The process itself has started, can go on, and is not told to stop.
        case process
        /// A place in the consumer group.
        case kafka
        /// The token state, where the role does not go on without.
        case redis
    }

    /// An obstacle that keeps a role from its work.
    public struct Obstacle: Sendable, Equatable {
        public let dependency: Dependency
        /// In words for people.
        public let text: String

        public init(_ dependency: Dependency, _ text: String) {
            self.dependency = dependency
            self.text = text
        }
    }

    private let found: [Obstacle]
    /// The parts of the role could be asked.
    private let isWhole: Bool

    public init(_ obstacles: [Obstacle] = []) {
        found = obstacles
        isWhole = true
    }

    /// Of a role whose parts cannot be asked, and why: at least one reason.
    init(process reasons: [String]) {
        found = reasons.map { Obstacle(.process, $0) }
        isWhole = false
    }

    /// The obstacles in words for people. Empty: the role is ready.
    public var obstacles: [String] { found.map(\.text) }

    public var isReady: Bool { found.isEmpty }

    /// Nil: not known.
    func has(_ dependency: Dependency) -> Bool? {
        if found.contains(where: { $0.dependency == dependency }) { return false }
        return isWhole ? true : nil
    }

    /// In the order of `/metrics`.
    static let table: [Metric<Readiness>] = [
        .gauge(
            "belfry_ready",
            "1 for each dependency of the role that is there, 0 while it waits for it.",
            .each(
                { readiness in Dependency.allCases.map { ($0, readiness.has($0)) } },
                labels: { [.init("dependency", $0.0.rawValue)] },
                .flag(\.1)
            )
        )
    ]
}
