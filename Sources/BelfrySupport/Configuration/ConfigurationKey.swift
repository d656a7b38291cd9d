/// One key of the configuration: the single place of everything that is decided about it but its default, which is the
/// initial value of the setting.
///
/// The reader, the rules of a reload, `belfry config schema` and the tables of Deploy/CONFIGURATION.md follow from it.
struct ConfigurationKey<Settings: Sendable>: Sendable {
    /// For instance `worker.shards`; of a key that every environment or app has, its name alone.
    let path: String
    let form: ValueForm
    /// In Markdown; links start from Deploy.
    let meaning: String
    /// Explains the default, or stands in for one, in Markdown.
    let standard: String?
    /// Tells from when on a running role uses a new value. Nil: the role must be started again.
    let counts: String?
    /// Makes the value in some settings that of others.
    let copy: @Sendable (_ source: Settings, _ target: inout Settings) -> Void
    /// The text of the value in some settings. Nil: nothing is set.
    let shown: @Sendable (Settings) -> String?
    private let readValue: @Sendable (_ section: ConfigurationSection, _ settings: inout Settings) -> Void

    /// - Parameter read: reads the value from the section that holds it, where the rule alone does not suffice.
    init<Value: Sendable>(
        _ path: String,
        _ value: any WritableKeyPath<Settings, Value> & Sendable,
        _ rule: ValueRule<Value>,
        standard: String? = nil,
        counts: String? = nil,
        read: (@Sendable (ConfigurationSection, inout Settings) -> Void)? = nil,
        meaning: () -> String
    ) {
        self.path = path
        form = rule.form
        self.meaning = meaning()
        self.standard = standard
        self.counts = counts
        copy = { source, target in target[keyPath: value] = source[keyPath: value] }
        shown = { rule.shown($0[keyPath: value]) }
        let name = String(path.split(separator: ".").last ?? "")
        readValue =
            read ?? { section, settings in
                settings[keyPath: value] = section.value(name, rule, default: settings[keyPath: value])
            }
    }

    /// The section of the file that has the key, or the key itself if none has it.
    var section: String { String(path.prefix { $0 != "." }) }

    /// Reads the value over the default that `settings` holds.
    ///
    /// - Parameter root: the mapping in which the path begins.
    func read(_ root: ConfigurationSection, _ settings: inout Settings) {
        let sections = path.split(separator: ".").dropLast()
        readValue(sections.reduce(root) { $0.section(String($1)) }, &settings)
    }
}

/// A key as documents and editors show it.
package struct ConfigurationEntry: Sendable {
    /// For instance `worker.shards` or `apps.<bundle>.spread`.
    package let path: String
    package let form: ValueForm
    /// In Markdown; links start from Deploy.
    package let meaning: String
    /// The value that holds where nothing is set, in Markdown.
    package let standard: String
    /// Tells from when on a running role uses a new value. Nil: the role must be started again.
    package let counts: String?
    /// The roles that read the key, in the order of the documents.
    package let roles: [String]

    /// - Parameters:
    ///   - place: stands before the path of the key.
    ///   - settings: hold the defaults.
    init<Settings: Sendable>(_ key: ConfigurationKey<Settings>, below place: String = "", defaults settings: Settings) {
        path = place + key.path
        form = key.form
        meaning = key.meaning
        let value = key.shown(settings).flatMap { $0 == DurationText.shown(.zero) ? nil : "`\($0)`" }
        standard = [value, key.standard].compactMap { $0 }.joined(separator: ", ")
        counts = key.counts
        roles = ConfigurationKeys.roles(reading: String(path.prefix { $0 != "." }))
    }

    /// The path of a key in a file is one of this key's; `<bundle>` stands for any bundle.
    func matches(_ key: String) -> Bool {
        guard path.hasPrefix("apps.") else { return path == key }
        return key.hasPrefix("apps.") && key.split(separator: ".").last == path.split(separator: ".").last
    }
}
