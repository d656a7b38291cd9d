/// One mapping of the configuration: hands out its values and knows in the end which keys were not asked for.
final class ConfigurationSection {
    let reader: ConfigurationReader
    let path: [String]

    /// The keys in the file, in its order.
    let names: [String]
    private let entries: [String: ConfigurationNode.Entry]
    private var requested: [String] = []
    private var sections: [String: ConfigurationSection] = [:]

    /// The root.
    convenience init(reader: ConfigurationReader, root: ConfigurationNode?) {
        self.init(reader: reader, path: [], node: root)
    }

    private init(reader: ConfigurationReader, path: [String], node: ConfigurationNode?) {
        self.reader = reader
        self.path = path
        var entries: [String: ConfigurationNode.Entry] = [:]
        var names: [String] = []
        switch node?.value {
        case .mapping(let pairs):
            for entry in pairs {
                let name = path.isEmpty ? ConfigurationReader.presentName(of: entry.key) : entry.key
                guard let other = entries.updateValue(entry, forKey: name) else {
                    names.append(name)
                    continue
                }
                reader.report(
                    ConfigurationProblem(
                        key: name,
                        origin: reader.file.map { .file($0, line: entry.line) } ?? .absent(file: nil),
                        found: "both \(other.key) and \(entry.key), which is the same section",
                        allowed: "one of them"
                    )
                )
            }
        case nil, .empty:
            break
        case .scalar, .list:
            reader.report(
                ConfigurationProblem(
                    key: path.joined(separator: "."),
                    origin: reader.file.map { .file($0, line: node?.line ?? 1) } ?? .absent(file: nil),
                    found: node?.kind ?? "nothing",
                    allowed: "a mapping of keys to values"
                )
            )
        }
        self.entries = entries
        self.names = names
    }

    /// The mapping under `key`; an empty one if there is none.
    func section(_ key: String) -> ConfigurationSection {
        if let section = sections[key] { return section }
        requested.append(key)
        let section = ConfigurationSection(reader: reader, path: path + [key], node: entries[key]?.node)
        sections[key] = section
        return section
    }

    /// The file or the environment has a value for `key`.
    func isSet(_ key: String) -> Bool { text(key) != nil }

    /// The file has an entry under `key`.
    func has(_ key: String) -> Bool {
        entries[key] != nil
    }

    /// The text under `key`, from the environment or the file.
    func text(_ key: String) -> (text: String, origin: ConfigurationOrigin)? {
        requested.append(key)
        if let variable = reader.variable(at: path + [key]) { return variable }
        guard let node = entries[key]?.node else { return nil }
        switch node.value {
        case .scalar(let text): return (text, origin(atLine: node.line))
        case .empty: return nil
        case .list, .mapping:
            report(key, origin(atLine: node.line), found: node.kind, allowed: "a single value")
            return nil
        }
    }

    /// The texts under `key`: a list in the file, or one text with commas.
    func texts(_ key: String) -> [(text: String, origin: ConfigurationOrigin)]? {
        if reader.variable(at: path + [key]) == nil, let node = entries[key]?.node, case .list(let items) = node.value {
            requested.append(key)
            return items.compactMap { item in
                guard case .scalar(let text) = item.value else {
                    report(
                        key,
                        origin(atLine: item.line),
                        found: "\(item.kind) in the list",
                        allowed: "a list of texts"
                    )
                    return nil
                }
                return (text, origin(atLine: item.line))
            }
        }
        guard let value = text(key) else { return nil }
        return value.text.split(separator: ",").map { (String($0).trimmed, value.origin) }
    }

    func report(_ key: String, _ origin: ConfigurationOrigin, found: String, allowed: String) {
        reader.report(
            ConfigurationProblem(
                key: (path + [key]).joined(separator: "."),
                origin: origin,
                found: found,
                allowed: allowed
            )
        )
    }

    /// Reports a value of `key` that does not go with others.
    func refuse(_ key: String, found: String, allowed: String) {
        report(key, origin(of: key), found: found, allowed: allowed)
    }

    /// Notes the value that is in force for `key`.
    ///
    /// - Parameters:
    ///   - value: nil: nothing is set, and nothing stands in.
    ///   - origin: nil: it is the default.
    func noteValue(_ key: String, _ value: String?, from origin: ConfigurationOrigin?, isSecret: Bool = false) {
        let name = (path + [key]).joined(separator: ".")
        reader.noteSetting(ConfigurationSetting(key: name, value: isSecret ? .hidden : .shown(value), origin: origin))
    }

    /// Reports the value of `key` as missing.
    func reportMissing(_ key: String, allowed: String) {
        report(key, .absent(file: reader.file), found: "nothing", allowed: allowed)
    }

    /// Reports the keys of the file that were not asked for: nearly always typing errors.
    func reportUnknownKeys() {
        let known = Set(requested)
        for name in names where !known.contains(name) {
            guard let entry = entries[name] else { continue }
            report(
                name,
                origin(atLine: entry.line),
                found: ConfigurationProblem.unknownKey,
                allowed: NearestName.first(name, among: known.sorted()).joined(separator: ", ")
            )
        }
    }

    /// Origin of the value of `key`.
    func origin(of key: String) -> ConfigurationOrigin {
        if let variable = reader.variable(at: path + [key]) { return variable.origin }
        return entries[key].map { origin(atLine: $0.line) } ?? .absent(file: reader.file)
    }

    private func origin(atLine line: Int) -> ConfigurationOrigin {
        reader.file.map { .file($0, line: line) } ?? .absent(file: nil)
    }
}

extension String {
    /// Without the spaces and tabs at both ends.
    package var trimmed: String {
        let isBlank: (Character) -> Bool = { $0 == " " || $0 == "\t" }
        let tail = drop(while: isBlank)
        return String(tail.reversed().drop(while: isBlank).reversed())
    }
}
