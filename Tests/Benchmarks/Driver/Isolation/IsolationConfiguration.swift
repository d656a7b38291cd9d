import LocalPipeline

/// The workers' configuration: both topics with their environments and credentials.
struct IsolationConfiguration {
    static let healthy = "com.example.healthy"
    static let sick = "com.example.sick"
    static let healthyEnvironment = "healthy"
    private static let ownEnvironment = "sick"
    /// Team of the key that the sandbox's certificates come with; over HTTP/2 both topics use it.
    private static let team = "BELFRYTEAM"

    /// Often, because a member learns of a rebalance by its heartbeat: after half a second, as the client looks no more
    /// often for whether one is due. Then a worker lets a slow app settle for a second beyond its confirmation window.
    /// The embedded broker waits for members only a second less than a session, 2 s: one that comes later has to join
    /// anew, and waits as long again. So the window is short, too.
    private static let heartbeatMilliseconds = 300

    var transport: PipelineTransport
    /// The sick topic has the healthy one's environment; else one of its own, so that it has a gateway of its own.
    var sharesEnvironment: Bool
    /// Of the sick topic. Over the binary interface it has none if there is no certificate in the directory.
    var hasCredential: Bool
    var sessionSeconds: Int
    /// Of each worker.
    var shards: Int
    /// `worker.max-uncommitted`: a topic's queue in one partition.
    var queue: Int
    /// More keys of the section `worker`, each behind a comma.
    var worker: String

    var sickEnvironment: String { sharesEnvironment ? Self.healthyEnvironment : Self.ownEnvironment }

    /// In YAML. The gateways' ports are of this machine; that of the sick topic is not used with one environment.
    ///
    /// - Parameter feedback: port of the feedback service for the healthy topic's environment; nil: there is none.
    func text(
        brokers: String,
        redisPort: Int,
        healthyGateway: Int,
        sickGateway: Int,
        feedback: Int? = nil
    ) -> String {
        var environments = [environment(Self.healthyEnvironment, healthyGateway, feedback: feedback)]
        if !sharesEnvironment { environments.append(environment(Self.ownEnvironment, sickGateway)) }
        return """
            kafka:
              brokers: "\(brokers)"
              properties:
                session.timeout.ms: "\(sessionSeconds * 1000)"
                heartbeat.interval.ms: "\(Self.heartbeatMilliseconds)"
                fetch.wait.max.ms: "10"
            redis: {url: "redis://127.0.0.1:\(redisPort)"}
            environments: {\(environments.joined(separator: ", "))}
            certificates: {directory: pki}
            worker: {shards: \(shards), connections-per-topic: 2, confirmation-window: 300ms, \
            max-uncommitted: \(queue)\(worker)}
            harvester: {interval: 1s, lease: 5s}
            outcomes: failures
            \(keys)

            """
    }

    private func environment(_ name: String, _ port: Int, feedback: Int? = nil) -> String {
        let feedback = feedback.map { ", feedback: \"127.0.0.1:\($0)\"" } ?? ""
        return "\(name): {transport: \(transport.rawValue), gateways: [\"127.0.0.1:\(port)\"], "
            + "trust: pki/ca.pem\(feedback)}"
    }

    /// A key's ID that no file has leaves the topic without a credential.
    private var keys: String {
        guard transport == .http2 else { return "" }
        let ofSick = hasCredential ? "team: \(Self.team)" : "key: NOSUCHKEY"
        return """
            keys: {directory: pki/keys, team: \(Self.team)}
            apps: {\(Self.healthy): {team: \(Self.team)}, \(Self.sick): {\(ofSick)}}
            """
    }
}
