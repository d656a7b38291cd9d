import PipelineCore

/// Connections that are open before anything is to be sent.
extension Stages {
    /// Keeps connections of the apps warm that the configuration names for it, while the shard has partitions.
    func keepWarm() {
        let bundles = group.active.isEmpty ? [] : gateway.settings.warmBundles
        let names = Set(bundles)
        for account in group.directory.accounts {
            if let topic = account.topic { topic.flow.isKeptWarm = names.contains(topic.bundleID) }
        }
        for environment in gateway.settings.environmentNames {
            for bundleID in bundles {
                guard let topic = group.directory.topic(environment: environment, bundleID: bundleID) else { continue }
                topic.flow.isKeptWarm = true
                // Its lanes open the connections. Those of a topic that does not work wait for a notification.
                if topic.flow.keepsWarm, topic.health.state == .works { _ = gateway.lanes(of: topic) }
            }
        }
    }
}
