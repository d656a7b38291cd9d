import BelfrySupport
import PushSchemas

// Settings of a bundle and its environment from the configuration, so that the tools refuse what the worker would.

extension PublishOrder: ConfiguredOrder {
    /// Takes spread and limits from the configuration, and the environment of this name (empty: the only one).
    ///
    /// Throws `ToolError.invalidInput` if the configuration has environments, but not this one.
    public mutating func apply(
        _ configuration: BelfryConfiguration,
        environmentName: String
    ) throws(ToolError) {
        sensitiveData = configuration.apps[bundleID]?.sensitiveData ?? .off
        guard let settings = try takeSettings(configuration, environmentName) else { return }
        transport = settings.transport
        payloadRule = configuration.topic(bundleID, in: settings).payload
    }
}

extension RegistrationOrder: ConfiguredOrder {
    /// Takes spread and limits from the configuration, and the environment of this name (empty: the only one).
    ///
    /// Throws `ToolError.invalidInput` if the configuration has environments, but not this one.
    public mutating func apply(
        _ configuration: BelfryConfiguration,
        environmentName: String
    ) throws(ToolError) {
        _ = try takeSettings(configuration, environmentName)
    }
}

/// The common part of the orders to `belfry publish` and `belfry register`.
private protocol ConfiguredOrder {
    var bundleID: String { get }
    var environment: String { get set }
    var spread: Int { get set }
    var tokenLimitBytes: Int { get set }
}

extension ConfiguredOrder {
    /// Takes what both orders have, and returns the settings of the environment if the configuration has any.
    fileprivate mutating func takeSettings(
        _ configuration: BelfryConfiguration,
        _ environmentName: String
    ) throws(ToolError) -> EnvironmentSettings? {
        environment = environmentName
        if let spread = configuration.apps[bundleID]?.spread { self.spread = Int(spread) }
        let settings = try configuration.toolEnvironment(environmentName)
        if let settings { tokenLimitBytes = settings.tokenLimitBytes }
        return settings
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
