import FoundationEssentials

/// An error in a control request, naming the field.
struct ControlError: Error, Equatable, Encodable {
    /// The field; `nil` = the request as a whole. Elements of arrays as in `tokens[3]`.
    let field: String?
    /// The value that was found and the values that are allowed.
    let error: String

    /// The same about a part of a larger document.
    func inside(_ part: String) -> ControlError {
        ControlError(field: field.map { "\(part).\($0)" } ?? part, error: error)
    }
}

/// The fields of a control request's JSON object, taken out one by one; what is left over at the end is unknown.
struct ControlFields {
    private var fields: [String: JSONValue]

    /// - Throws: ``ControlError`` when the body is not a JSON object.
    init(body: [UInt8]) throws(ControlError) {
        let value: JSONValue
        do {
            value = try JSONDecoder().decode(JSONValue.self, from: Data(body))
        } catch {
            throw ControlError(field: nil, error: "the body is not JSON")
        }
        guard case .object(let fields) = value else {
            throw ControlError(field: nil, error: "the body is \(value.text), a JSON object is expected")
        }
        self.fields = fields
    }

    /// The fields of an object inside a request.
    init(_ fields: [String: JSONValue]) {
        self.fields = fields
    }

    /// A field of any type, which may be left out.
    mutating func takeField(_ field: String) -> JSONValue? {
        fields.removeValue(forKey: field)
    }

    func has(_ field: String) -> Bool {
        fields[field] != nil
    }

    /// A field that may be left out.
    mutating func integer(_ field: String, in range: ClosedRange<Int>) throws(ControlError) -> Int? {
        guard let value = fields.removeValue(forKey: field) else { return nil }
        guard case .integer(let integer) = value, range.contains(integer) else {
            let allowed = "an integer of \(range.lowerBound) to \(range.upperBound)"
            throw ControlError(field: field, error: "is \(value.text), \(allowed) is expected")
        }
        return integer
    }

    /// A field that must be there.
    mutating func requiredInteger(_ field: String, in range: ClosedRange<Int>) throws(ControlError) -> Int {
        guard let value = try integer(field, in: range) else { throw missing(field) }
        return value
    }

    /// A field that may be left out.
    mutating func string(_ field: String) throws(ControlError) -> String? {
        guard let value = fields.removeValue(forKey: field) else { return nil }
        guard case .string(let string) = value else {
            throw ControlError(field: field, error: "is \(value.text), a string is expected")
        }
        return string
    }

    /// A field that must be there.
    mutating func requiredString(_ field: String) throws(ControlError) -> String {
        guard let value = try string(field) else { throw missing(field) }
        return value
    }

    /// A field that is false when it is left out.
    mutating func flag(_ field: String) throws(ControlError) -> Bool {
        guard let value = fields.removeValue(forKey: field) else { return false }
        guard case .bool(let flag) = value else {
            throw ControlError(field: field, error: "is \(value.text), true or false is expected")
        }
        return flag
    }

    /// A field that may be left out: an array of strings.
    mutating func strings(_ field: String) throws(ControlError) -> [String]? {
        guard let value = fields.removeValue(forKey: field) else { return nil }
        guard case .array(let elements) = value else {
            throw ControlError(field: field, error: "is \(value.text), an array of strings is expected")
        }
        var strings: [String] = []
        strings.reserveCapacity(elements.count)
        for (index, element) in elements.enumerated() {
            guard case .string(let string) = element else {
                throw ControlError(field: "\(field)[\(index)]", error: "is \(element.text), a string is expected")
            }
            strings.append(string)
        }
        return strings
    }

    /// A field that must be there: an object of numbers, each of which has one of these names and is in the range.
    mutating func requiredNumbers(
        _ field: String,
        names: [String],
        in range: ClosedRange<Double>
    ) throws(ControlError) -> [String: Double] {
        guard let value = fields.removeValue(forKey: field) else { throw missing(field) }
        guard case .object(let members) = value else {
            throw ControlError(field: field, error: "is \(value.text), an object of numbers is expected")
        }
        var numbers: [String: Double] = [:]
        for (name, value) in members.sorted(by: { $0.key < $1.key }) {
            let path = "\(field).\(name.prefix(80))"
            guard names.contains(name) else {
                throw ControlError(field: path, error: "is not one of \(names.joined(separator: ", "))")
            }
            let number: Double? =
                switch value {
                case .integer(let integer): Double(integer)
                case .number(let number): number
                default: nil
                }
            guard let number, range.contains(number) else {
                let allowed = "a number of \(Int(range.lowerBound)) to \(Int(range.upperBound))"
                throw ControlError(field: path, error: "is \(value.text), \(allowed) is expected")
            }
            numbers[name] = number
        }
        return numbers
    }

    /// Refuses unknown fields, the first by name.
    func finish() throws(ControlError) {
        guard let unknown = fields.keys.min() else { return }
        throw ControlError(field: String(unknown.prefix(80)), error: "is not a field of this request")
    }

    func missing(_ field: String) -> ControlError {
        ControlError(field: field, error: "is missing")
    }
}
