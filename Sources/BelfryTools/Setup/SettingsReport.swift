import BelfrySupport

/// The lines of `belfry config show`: every key, its value and where that comes from. Pure.
public struct SettingsReport: Equatable, Sendable {
    /// One key.
    public struct Line: Equatable, Sendable {
        public let setting: ConfigurationSetting

        /// For instance `worker.shards: 4 (belfry.yaml:3)`.
        public var text: String {
            "\(setting.key): \(setting.value.text) (\(setting.origin?.description ?? "default"))"
        }

        /// One JSON object without its end of line. There is no `value` where nothing is set, or it is not shown.
        public var json: String {
            var line = JSONLine()
            line.append("key", setting.key)
            switch setting.value {
            case .shown(let value): if let value { line.append("value", value) }
            case .hidden: line.append("hidden", true)
            }
            switch setting.origin {
            case .file(let name, let number):
                line.append("source", "file")
                line.append("file", name)
                line.append("line", number)
            case .variable(let name):
                line.append("source", "variable")
                line.append("variable", name)
            case .absent, nil:
                line.append("source", "default")
            }
            return line.text
        }
    }

    public let lines: [Line]

    public init(_ settings: [ConfigurationSetting]) {
        lines = settings.map(Line.init)
    }
}
