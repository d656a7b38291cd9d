import BelfrySupport
import PushSchemas

// Settings of a bundle and its environment from the configuration, so that the tools refuse what the worker would.

extension PublishOrder {
    /// Takes spread and limits from the configuration, and the environment of this name (empty: the only one).
    ///
    /// Throws `ToolError.invalidInput` if the configuration has environments, but not this one.
    public mutating func apply(
        _ configuration: BelfryConfiguration,
        environmentName: String
    ) throws(ToolError) {
        environment = environmentName
        if let spread = configuration.topics[bundleID]?.spread { self.spread = Int(spread) }
        guard let settings = try configuration.toolEnvironment(environmentName) else { return }
        tokenLimitBytes = settings.tokenLimitBytes
        transport = settings.transport
        payloadRule = configuration.topic(bundleID, in: settings).payload
    }
}

extension RegistrationOrder {
    /// Takes spread and limits from the configuration, and the environment of this name (empty: the only one).
    ///
    /// Throws `ToolError.invalidInput` if the configuration has environments, but not this one.
    public mutating func apply(
        _ configuration: BelfryConfiguration,
        environmentName: String
    ) throws(ToolError) {
        environment = environmentName
        if let spread = configuration.topics[bundleID]?.spread { self.spread = Int(spread) }
        guard let settings = try configuration.toolEnvironment(environmentName) else { return }
        tokenLimitBytes = settings.tokenLimitBytes
    }
}

extension BelfryConfiguration {
    /// Nil: the configuration says nothing of environments, as when a tool is only told the brokers.
    fileprivate func toolEnvironment(_ name: String) throws(ToolError) -> EnvironmentSettings? {
        if environments.isEmpty { return nil }
        if let settings = environment(named: name) { return settings }
        let found = name.isEmpty ? "environment: found nothing" : "environment: found \"\(name)\""
        throw .invalidInput(["\(found); allowed: \(environments.map(\.name).joined(separator: ", "))"])
    }
}
