/// The configuration that a role works by, which takes from those that it reads later what may change meanwhile.
///
/// Pure: reading, telling and applying are for others.
package struct ConfigurationInForce: Sendable {
    /// As at the start, with the settings that were applied since.
    package private(set) var configuration: BelfryConfiguration
    /// The keys of the configuration read last that need a new start.
    package private(set) var restartNeeded: [ConfigurationChange] = []

    private let sections: Set<String>
    /// By key; a key that is not there has no value.
    private var values: [String: ConfigurationSetting.Value]
    /// In the order of the configuration.
    private var keys: [String]

    /// - Parameters:
    ///   - inspection: of the configuration at the start, which is sound.
    ///   - sections: those that the role reads; changes in others are none of its business.
    package init(_ inspection: ConfigurationInspection, sections: Set<String>) {
        configuration = inspection.configuration
        self.sections = sections
        let settings = inspection.settings(in: sections)
        keys = settings.map(\.key)
        values = Dictionary(uniqueKeysWithValues: settings.map { ($0.key, $0.value) })
    }

    /// Takes over the settings that are applied while the role runs.
    ///
    /// - Parameter inspection: of a sound configuration.
    /// - Returns: every key with another value than that in force, in the order of the configuration.
    package mutating func take(_ inspection: ConfigurationInspection) -> [ConfigurationChange] {
        let settings = inspection.settings(in: sections)
        let read = Dictionary(uniqueKeysWithValues: settings.map { ($0.key, $0.value) })
        let other = inspection.configuration
        let all = settings.map(\.key) + keys.filter { read[$0] == nil }
        var changes = all.compactMap { change(of: $0, to: read[$0] ?? .shown(nil), in: other) }
        if sections.contains("apps") { changes += changedNames(in: other, besides: changes) }
        configuration = ConfigurationKeys.apply(other, to: configuration, in: sections)
        for change in changes where change.isApplied { values[change.key] = change.new }
        keys = all
        restartNeeded = changes.filter { !$0.isApplied }
        return changes
    }

    private func change(
        of key: String,
        to value: ConfigurationSetting.Value,
        in other: BelfryConfiguration
    ) -> ConfigurationChange? {
        let present = values[key] ?? .shown(nil)
        if present != value {
            let isApplied = ConfigurationKeys.isApplied(key)
            return ConfigurationChange(key: key, old: present, new: value, isApplied: isApplied)
        }
        // A part that is not shown may differ all the same.
        guard configuration.hasSecret(of: key, otherThan: other) else { return nil }
        return ConfigurationChange(key: key, old: .hidden, new: .hidden, isApplied: false)
    }

    /// Bundles whose entry says nothing: that they are named means something, too.
    private func changedNames(
        in other: BelfryConfiguration,
        besides changes: [ConfigurationChange]
    ) -> [ConfigurationChange] {
        let (present, read) = (Set(configuration.apps.keys), Set(other.apps.keys))
        return present.symmetricDifference(read).sorted().compactMap { bundleID in
            let key = "apps." + bundleID
            guard !changes.contains(where: { $0.key.hasPrefix(key + ".") }) else { return nil }
            func value(_ names: Set<String>) -> ConfigurationSetting.Value {
                .shown(names.contains(bundleID) ? "an entry" : nil)
            }
            return ConfigurationChange(key: key, old: value(present), new: value(read), isApplied: true)
        }
    }
}

/// A key with another value than the one that a role works by.
package struct ConfigurationChange: Sendable, Equatable {
    /// Its path, for instance `worker.max-uncommitted`.
    package let key: String
    package let old: ConfigurationSetting.Value
    package let new: ConfigurationSetting.Value
    /// The role takes the new value while it runs; else it needs a new start for it.
    package let isApplied: Bool

    package init(
        key: String,
        old: ConfigurationSetting.Value,
        new: ConfigurationSetting.Value,
        isApplied: Bool
    ) {
        self.key = key
        self.old = old
        self.new = new
        self.isApplied = isApplied
    }
}

extension ConfigurationInspection {
    fileprivate func settings(in sections: Set<String>) -> [ConfigurationSetting] {
        settings.filter { sections.contains(String($0.key.prefix { $0 != "." })) }
    }
}

extension BelfryConfiguration {
    /// The part of a key's value that is never shown differs.
    fileprivate func hasSecret(of key: String, otherThan other: BelfryConfiguration) -> Bool {
        let properties = "kafka.properties."
        if key == "redis.url" { return redis.endpoints != other.redis.endpoints }
        let environments = "environments."
        if key.hasPrefix(environments), key.hasSuffix(".proxy") {
            let name = String(key.dropFirst(environments.count).dropLast(".proxy".count))
            return environment(named: name)?.proxy != other.environment(named: name)?.proxy
        }
        if key == "redis.sentinel.password" { return redis.sentinel.password != other.redis.sentinel.password }
        guard key.hasPrefix(properties) else { return false }
        let name = key.dropFirst(properties.count)
        func value(_ kafka: KafkaSettings) -> String? { kafka.properties.first { $0.name == name }?.value }
        return value(kafka) != value(other.kafka)
    }
}
