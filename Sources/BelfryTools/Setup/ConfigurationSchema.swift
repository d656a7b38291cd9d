import BelfrySupport
import Foundation

/// The JSON Schema of the configuration file, for editors. Pure.
///
/// It refuses no file that a role takes: a value may stand in quotes, or be left empty, and variables may hold what the
/// file lacks. Of the rest it finds what a schema can say; ranges of durations, and keys that do not go together, are
/// found by the roles and `belfry config check` alone.
public enum ConfigurationSchema {
    /// Draft 2020-12, without an end of line.
    public static func text() throws -> String {
        var root = mapping(ConfigurationKeys.all.map { ($0.path.split(separator: ".")[...], $0) })
        root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
        root["title"] = "Configuration of Belfry"
        let data = try JSONSerialization.data(
            withJSONObject: root,
            options: [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        )
        return String(decoding: data, as: UTF8.self)
    }

    /// Names that the user chooses, by what stands for them in a path.
    private static let names = ["<name>": "^[a-z0-9-]{1,32}$", "<bundle>": "^[A-Za-z0-9._-]+$"]

    /// Types of a value that is read as a text.
    private static let scalar = ["string", "number", "boolean", "null"]

    /// A key, and the rest of its path below a mapping.
    private typealias Member = (path: ArraySlice<Substring>, entry: ConfigurationEntry)

    private static func mapping(_ entries: [Member]) -> [String: Any] {
        let members = Dictionary(grouping: entries) { $0.path.first ?? "" }.map { name, entries in
            let inside = entries.map { (path: $0.path.dropFirst(), entry: $0.entry) }
            return (String(name), inside[0].path.isEmpty ? value(inside[0].entry) : mapping(inside))
        }
        var schema: [String: Any] = ["type": ["object", "null"]]
        if let (name, member) = members.first, let pattern = names[name] {
            schema["propertyNames"] = ["pattern": pattern]
            schema["additionalProperties"] = member
        } else {
            schema["properties"] = Dictionary(uniqueKeysWithValues: members)
            schema["additionalProperties"] = false
        }
        return schema
    }

    private static func value(_ entry: ConfigurationEntry) -> [String: Any] {
        let meaning = entry.meaning.replacing(/\[([^\]]+)\]\([^)]+\)/) { $0.1 }
        var lines = [meaning, "Allowed: \(entry.form.allowed)"]
        if !entry.standard.isEmpty { lines.append("Default: \(entry.standard)") }
        if let counts = entry.counts {
            lines.append("While running (\(entry.roles.joined(separator: ", "))): \(counts)")
        }
        return rule(entry.form).merging(["description": lines.joined(separator: "\n\n")]) { own, _ in own }
    }

    private static func rule(_ form: ValueForm) -> [String: Any] {
        switch form {
        case .integer(let range):
            [
                "type": ["integer", "string", "null"], "pattern": "^[+-]?[0-9]+$",
                "minimum": range.lowerBound, "maximum": range.upperBound,
            ]
        case .number(let range):
            [
                "type": ["number", "string", "null"], "pattern": "^[+-]?[0-9.]+([eE][+-]?[0-9]+)?$",
                "minimum": range.lowerBound, "maximum": range.upperBound,
            ]
        case .boolean: ["enum": alternatives(["true", "false"])]
        case .choice(let names): ["enum": alternatives(names)]
        case .choices(let names): ["type": ["array"] + scalar, "items": ["enum": names]]
        case .duration, .age: ["type": ["string", "null"], "pattern": "^[0-9]+(ms|s|m|h|d)$"]
        case .address(let port): address(isPortRequired: port == nil)
        case .addresses: ["type": ["array"] + scalar, "items": address(isPortRequired: false)]
        case .path: ["type": scalar, "minLength": 1]
        case .text(_, let pattern): ["type": scalar, "pattern": pattern]
        case .properties: ["type": ["object", "null"], "additionalProperties": ["type": scalar]]
        }
    }

    private static func address(isPortRequired: Bool) -> [String: Any] {
        let pattern = #"^(\[[^\[\]\s]+\]|[^:\[\]\s]+)"# + (isPortRequired ? ":[0-9]+$" : "(:[0-9]+)?$")
        return ["type": isPortRequired ? ["string", "null"] : scalar, "pattern": pattern]
    }

    /// The names, and the values that YAML makes of them without quotes.
    private static func alternatives(_ names: [String]) -> [Any] {
        let plain = names.compactMap { name -> Any? in Bool(name).map { $0 as Any } ?? Double(name).map { $0 as Any } }
        return (names as [Any]) + plain + [NSNull() as Any]
    }
}
