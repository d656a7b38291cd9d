import BelfrySupport

extension Readiness {
    /// The obstacles of a role that applies the records of its partitions to Redis.
    ///
    /// - Parameters:
    ///   - isInGroup: all parts have their places in the group.
    ///   - isRedisReady: all parts can write.
    ///   - clocks: the reasons why the host's clock may not decide.
    static func obstacles(of role: String, isInGroup: Bool, isRedisReady: Bool, clocks: [String]) -> [Obstacle] {
        var obstacles: [Obstacle] = []
        if !isInGroup { obstacles.append(Obstacle(.kafka, "the \(role) waits for its partitions")) }
        if !isRedisReady { obstacles.append(Obstacle(.redis, "the \(role) waits for Redis")) }
        return obstacles + clocks.map { Obstacle(.process, $0) }
    }
}
