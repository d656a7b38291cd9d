/// All keys of the configuration, their readers, and the settings that a running role applies.
package enum ConfigurationKeys {
    /// In the order of the document.
    package static let all: [ConfigurationEntry] = {
        func plain(_ keys: [ConfigurationKey<BelfryConfiguration>]) -> [ConfigurationEntry] {
            keys.map { ConfigurationEntry($0, defaults: BelfryConfiguration()) }
        }
        let environment = EnvironmentSettings(name: "", gateways: [])
        return plain(BelfryConfiguration.serverKeys)
            + EnvironmentSettings.keys.map {
                ConfigurationEntry($0, below: "environments.<name>.", defaults: environment)
            }
            + plain(BelfryConfiguration.credentialKeys)
            + AppOverrides.keys.map { ConfigurationEntry($0, below: "apps.<bundle>.", defaults: AppOverrides()) }
            + plain(BelfryConfiguration.workerKeys + BelfryConfiguration.processKeys)
    }()

    /// The sections that every role reads.
    package static let commonSections: Set = ["kafka", "redis", "environments", "operations", "log"]

    private static let everyRole = ["worker", "registrar", "harvester"]

    /// The roles that read a section that not all of them read.
    private static let readers = [
        "worker": ["worker"], "apps": ["worker"], "outcomes": ["worker"], "keys": ["worker"],
        "certificates": ["worker", "harvester"],
        "registrar": ["registrar"], "retention": ["registrar"],
        "harvester": ["harvester"],
    ]

    static func roles(reading section: String) -> [String] { readers[section] ?? everyRole }

    /// The sections that a role reads.
    package static func sections(of role: String) -> Set<String> {
        commonSections.union(readers.filter { $0.value.contains(role) }.keys)
    }

    /// A role that reads the key, such as `apps.com.example.news.spread`, takes its value while it runs.
    static func isApplied(_ key: String) -> Bool { all.contains { $0.counts != nil && $0.matches(key) } }

    /// A configuration with the values of another one that a role applies while it runs, and its own of all others.
    ///
    /// - Parameter sections: those that the role reads.
    static func apply(
        _ changed: BelfryConfiguration,
        to present: BelfryConfiguration,
        in sections: Set<String>
    ) -> BelfryConfiguration {
        var result = present
        for key in BelfryConfiguration.keys where key.counts != nil && sections.contains(key.section) {
            key.copy(changed, &result)
        }
        guard sections.contains("apps") else { return result }
        // That a bundle has an entry means something, too.
        for bundleID in Set(present.apps.keys).union(changed.apps.keys) {
            var app = present.apps[bundleID] ?? AppOverrides()
            for key in AppOverrides.keys where key.counts != nil {
                key.copy(changed.apps[bundleID] ?? AppOverrides(), &app)
            }
            let isNamed = changed.apps[bundleID] != nil || app != AppOverrides()
            result.apps[bundleID] = isNamed ? app : nil
        }
        return result
    }
}
