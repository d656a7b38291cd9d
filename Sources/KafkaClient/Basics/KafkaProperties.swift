/// librdkafka's properties by name, in the order they were set; a later value replaces an earlier one.
///
/// Values are passed on unchanged; a wrong name or value is found when a client is made with them.
public struct KafkaProperties: Hashable, Sendable {
    /// One property.
    public struct Property: Hashable, Sendable {
        public let name: String
        public let value: String
    }

    public private(set) var all: [Property] = []

    public init() {}

    public init(_ pairs: KeyValuePairs<String, String>) {
        for (name, value) in pairs { self[name] = value }
    }

    /// The value set for `name`; setting nil removes it, so that librdkafka's default holds.
    public subscript(name: String) -> String? {
        get { all.last { $0.name == name }?.value }
        set {
            all.removeAll { $0.name == name }
            if let newValue { all.append(Property(name: name, value: newValue)) }
        }
    }

    /// These properties, replaced by those of `other` where both set one.
    public func merging(_ other: KafkaProperties) -> KafkaProperties {
        var merged = self
        for property in other.all { merged[property.name] = property.value }
        return merged
    }
}

extension KafkaProperties: ExpressibleByDictionaryLiteral {
    public init(dictionaryLiteral elements: (String, String)...) {
        for (name, value) in elements { self[name] = value }
    }
}
