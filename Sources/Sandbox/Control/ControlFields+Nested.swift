extension ControlFields {
    /// A field that may be left out: an integer or a decimal.
    mutating func number(_ field: String, in range: ClosedRange<Double>) throws(ControlError) -> Double? {
        guard let value = takeField(field) else { return nil }
        let number: Double? =
            switch value {
            case .integer(let integer): Double(integer)
            case .number(let number): number
            default: nil
            }
        guard let number, range.contains(number) else {
            let allowed = "a number of \(range.lowerBound) to \(range.upperBound)"
            throw ControlError(field: field, error: "is \(value.text), \(allowed) is expected")
        }
        return number
    }

    /// A field that must be there.
    mutating func requiredNumber(_ field: String, in range: ClosedRange<Double>) throws(ControlError) -> Double {
        guard let value = try number(field, in: range) else { throw missing(field) }
        return value
    }

    /// A field that may be left out: an object.
    mutating func object(_ field: String) throws(ControlError) -> ControlFields? {
        guard let value = takeField(field) else { return nil }
        guard case .object(let fields) = value else {
            throw ControlError(field: field, error: "is \(value.text), an object is expected")
        }
        return ControlFields(fields)
    }

    /// A field that must be there: an array of objects.
    mutating func requiredObjects(_ field: String, limit: Int) throws(ControlError) -> [ControlFields] {
        guard let value = takeField(field) else { throw missing(field) }
        guard case .array(let elements) = value else {
            throw ControlError(field: field, error: "is \(value.text), an array of objects is expected")
        }
        guard elements.count <= limit else {
            throw ControlError(field: field, error: "has \(elements.count) elements, at most \(limit) are possible")
        }
        var objects: [ControlFields] = []
        for (index, element) in elements.enumerated() {
            guard case .object(let fields) = element else {
                throw ControlError(field: "\(field)[\(index)]", error: "is \(element.text), an object is expected")
            }
            objects.append(ControlFields(fields))
        }
        return objects
    }
}
