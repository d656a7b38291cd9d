/// The configuration file that the roles of a ``LocalPipeline`` share. Paths in it start from its directory.
struct PipelineConfiguration {
    var options: LocalPipeline.Options
    /// `host:port`, comma-separated.
    var brokers: String
    var redisURL: String
    /// `host:port` of the sandbox, on the port of the transport.
    var gateway: String
    /// `host:port`.
    var feedback: String
    /// `host:port` of the sandbox's provider API, which manages channels too.
    var api: String

    /// In YAML.
    var text: String {
        """
        kafka: {brokers: "\(brokers)"\(prefix), properties: {\(group)\(options.kafkaProperties)}}
        redis: {url: "\(redisURL)"\(options.redisSettings)}
        environments:
          sandbox:
            \(transport)
            gateways: [\(gateway)]
            feedback: \(feedback)
            trust: pki/ca.pem
        certificates: {directory: pki}
        worker: \(options.worker)
        harvester: {interval: 1s, lease: 5s}
        outcomes: \(options.outcomes)
        \(options.configuration)
        \((keys + apps).joined(separator: "\n"))

        """
    }

    private var prefix: String { options.prefix.isEmpty ? "" : ", prefix: \(options.prefix)" }

    /// Properties of the members of groups.
    private var group: String {
        // A property that is set in any case stands before those that begin with a comma.
        guard let session = options.sessionMilliseconds else { return "heartbeat.interval.ms: \"1000\"" }
        return "session.timeout.ms: \"\(session)\", heartbeat.interval.ms: \"\(session / 6)\""
    }

    /// The interface, and over HTTP/2 the place where channels are managed.
    private var transport: String {
        switch options.transport {
        case .binary: "transport: binary"
        case .http2: "transport: http2\n    channels: \(api)"
        }
    }

    /// The topics that use the provider key though they have a certificate.
    private var topicsWithKey: [String] { options.transport.topicsWithKey(of: options.topics) }

    /// The line of the provider key, if a topic uses it.
    private var keys: [String] {
        topicsWithKey.isEmpty ? [] : ["keys: {directory: pki/keys, team: \(PipelineTransport.team)}"]
    }

    /// The line of what is said of single topics, if something is.
    private var apps: [String] {
        let topicsWithKey = topicsWithKey
        let sections: [String] = options.topics.compactMap { topic in
            var keys: [String] = []
            if topicsWithKey.contains(topic) { keys.append("team: \(PipelineTransport.team)") }
            if let more = options.apps[topic] { keys.append(more) }
            return keys.isEmpty ? nil : "\(topic): {\(keys.joined(separator: ", "))}"
        }
        return sections.isEmpty ? [] : ["apps: {\(sections.joined(separator: ", "))}"]
    }
}
