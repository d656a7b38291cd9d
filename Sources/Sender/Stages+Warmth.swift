import PipelineCore

/// Connections that are open before anything is to be sent.
extension Stages {
    /// Keeps connections of the apps warm that the configuration names for it, while the shard has partitions.
    func keepWarm() {
        let bundles = group.active.isEmpty ? [] : gateway.settings.warmBundles
        guard !bundles.isEmpty || !warmTopics.isEmpty else { return }
        let names = Set(bundles)
        for topic in warmTopics where !names.contains(topic.bundleID) { topic.flow.isKeptWarm = false }
        warmTopics.removeAll { !$0.flow.isKeptWarm }
        for environment in gateway.settings.environmentNames {
            for bundleID in bundles {
                guard let topic = group.directory.topic(environment: environment, bundleID: bundleID) else { continue }
                if !topic.flow.isKeptWarm {
                    topic.flow.isKeptWarm = true
                    warmTopics.append(topic)
                }
                // Its lanes open the connections. Those of a topic that does not work wait for a notification.
                if topic.flow.keepsWarm, topic.health.state == .works { _ = gateway.lanes(of: topic) }
            }
        }
    }
}
