/// The way of a value from its text and back.
struct ValueRule<Value: Sendable>: Sendable {
    let form: ValueForm
    /// The text of a value for people. Nil: it means that nothing is set.
    let shown: @Sendable (Value) -> String?
    /// The value of a text. Nil: the text is wrong.
    let parse: @Sendable (String) -> Value?

    /// The same, where nothing may be set.
    static func optional<Wrapped: Sendable>(_ rule: ValueRule<Wrapped>) -> ValueRule where Value == Wrapped? {
        ValueRule(form: rule.form, shown: { $0.flatMap(rule.shown) }, parse: { rule.parse($0).map(Optional.some) })
    }
}

extension ValueRule where Value: FixedWidthInteger {
    static func integer(_ range: ClosedRange<Value>) -> ValueRule {
        let form = ValueForm.integer(Int(range.lowerBound)...Int(range.upperBound))
        return ValueRule(form: form, shown: { "\($0)" }, parse: { Value($0).flatMap { range.contains($0) ? $0 : nil } })
    }
}

extension ValueRule<Double> {
    static func number(_ range: ClosedRange<Double>) -> ValueRule {
        ValueRule(
            form: .number(range),
            shown: { "\($0)" },
            parse: { Double($0).flatMap { range.contains($0) ? $0 : nil } }
        )
    }
}

extension ValueRule<Bool> {
    static var boolean: ValueRule { ValueRule(form: .boolean, shown: { "\($0)" }, parse: { Bool($0) }) }
}

extension ValueRule where Value: RawRepresentable<String> & CaseIterable {
    /// One of the names of the type.
    static var choice: ValueRule {
        ValueRule(form: .choice(Value.allCases.map(\.rawValue)), shown: { $0.rawValue }, parse: { Value(rawValue: $0) })
    }
}

extension ValueRule {
    /// Some of the names of a type, for ``ConfigurationSection/choices(_:)``, which reads them.
    static func choices<Choice: RawRepresentable<String> & CaseIterable>() -> ValueRule where Value == [Choice] {
        ValueRule(
            form: .choices(Choice.allCases.map(\.rawValue)),
            shown: { $0.map(\.rawValue).joined(separator: ", ") },
            parse: { _ in nil }
        )
    }
}

extension ValueRule<Duration> {
    /// A whole number with its unit: `500ms`, `2s`, `1m`, `6h`.
    static func duration(_ range: ClosedRange<Duration>) -> ValueRule {
        ValueRule(form: .duration(range), shown: DurationText.shown) { text in
            DurationText.parse(text).flatMap { range.contains($0) ? $0 : nil }
        }
    }

    /// Zero, or long enough that a mistyped unit does not empty the token state.
    static func age(_ range: ClosedRange<Duration>) -> ValueRule {
        ValueRule(form: .age(range), shown: DurationText.shown) { text in
            DurationText.parse(text).flatMap { $0 == .zero || range.contains($0) ? $0 : nil }
        }
    }
}

extension ValueRule<HostPort> {
    static func address(defaultPort: Int?, allowsPortZero: Bool = false) -> ValueRule {
        ValueRule(
            form: .address(defaultPort: defaultPort),
            shown: { $0.description },
            parse: { HostPort($0, defaultPort: defaultPort, allowsPortZero: allowsPortZero) }
        )
    }
}

extension ValueRule<[HostPort]> {
    /// For ``ConfigurationSection/addresses(_:defaultPort:)``, which reads them.
    static func addresses(defaultPort: Int) -> ValueRule {
        ValueRule(form: .addresses(defaultPort: defaultPort), shown: { _ in nil }, parse: { _ in nil })
    }
}

extension ValueRule<String> {
    static var text: ValueRule { text(nil, pattern: ".", parse: { $0.isEmpty ? nil : $0 }) }

    static var path: ValueRule {
        ValueRule(form: .path, shown: { $0.isEmpty ? nil : $0 }, parse: { $0.isEmpty ? nil : $0 })
    }

    /// - Parameter pattern: takes all texts that `parse` takes, and perhaps more.
    static func text(_ rule: String?, pattern: String, parse: @escaping @Sendable (String) -> String?) -> ValueRule {
        ValueRule(form: .text(rule: rule, pattern: pattern), shown: { $0.isEmpty ? nil : $0 }, parse: parse)
    }
}
