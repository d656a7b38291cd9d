/// Metrics and readiness of a role. Called from any thread, as often as it is asked.
public protocol OperationsSource: Sendable {
    /// The troubles that the role does not get over by itself, told without asking its event loops.
    var health: RoleHealth { get }
    /// The name of the role.
    var name: String { get }
    func metrics() async -> [MetricFamily]
    func readiness() async -> Readiness
    /// The role's part of `/status`.
    ///
    /// - Parameter now: UNIX seconds.
    func status(now: Double) async -> RoleStatus
}
