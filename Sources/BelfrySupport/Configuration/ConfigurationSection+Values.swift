extension ConfigurationSection {
    /// A text that is not empty.
    ///
    /// - Parameter resolve: makes a path of it, as it is shown.
    func string(
        _ key: String,
        default standard: String,
        allowed: String = "a text that is not empty",
        resolve: (String) -> String = { $0 },
        isValid: (String) -> Bool = { !$0.isEmpty }
    ) -> String {
        value(
            key,
            default: standard,
            allowed: allowed,
            shown: { $0.isEmpty ? nil : resolve($0) },
            parse: { isValid($0) ? $0 : nil }
        )
    }

    /// A whole number in `range`.
    func integer(_ key: String, in range: ClosedRange<Int>, default standard: Int) -> Int {
        value(key, default: standard, allowed: "a whole number, \(range.lowerBound)...\(range.upperBound)") {
            "\($0)"
        } parse: { text in
            Int(text).flatMap { range.contains($0) ? $0 : nil }
        }
    }

    /// A decimal number in `range`.
    func number(_ key: String, in range: ClosedRange<Double>, default standard: Double) -> Double {
        value(key, default: standard, allowed: "a number, \(range.lowerBound)...\(range.upperBound)") {
            "\($0)"
        } parse: { text in
            Double(text).flatMap { range.contains($0) ? $0 : nil }
        }
    }

    func boolean(_ key: String, default standard: Bool) -> Bool {
        value(key, default: standard, allowed: "true or false", shown: { "\($0)" }, parse: { Bool($0) })
    }

    /// A duration in `range`, as a whole number with its unit: `500ms`, `2s`, `1m`, `6h`.
    func duration(_ key: String, in range: ClosedRange<Duration>, default standard: Duration) -> Duration {
        optionalDuration(key, in: range, default: standard) ?? standard
    }

    /// A duration, or nil if nothing is said.
    ///
    /// - Parameter standard: the value that is in force then, for those who look.
    func optionalDuration(
        _ key: String,
        in range: ClosedRange<Duration>,
        default standard: Duration? = nil
    ) -> Duration? {
        let allowed =
            "a duration such as 500ms, 2s, 1m or 6h, "
            + "\(DurationText.format(range.lowerBound))...\(DurationText.format(range.upperBound))"
        return value(key, default: nil, allowed: allowed) {
            ($0 ?? standard).map(DurationText.shown)
        } parse: { text in
            DurationText.parse(text).flatMap { range.contains($0) ? .some($0) : nil }
        }
    }

    /// One of the names of `E`.
    func choice<E: RawRepresentable<String> & CaseIterable>(_ key: String, default standard: E) -> E {
        value(
            key,
            default: standard,
            allowed: Self.alternatives(E.self),
            shown: { $0.rawValue },
            parse: { E(rawValue: $0) }
        )
    }

    /// One of the names of `E`, or nil if nothing is said.
    func optionalChoice<E: RawRepresentable<String> & CaseIterable>(_ key: String, of type: E.Type) -> E? {
        value(
            key,
            default: nil,
            allowed: Self.alternatives(type),
            shown: { $0?.rawValue },
            parse: { E(rawValue: $0).map(Optional.some) }
        )
    }

    /// An address, or nil if nothing is said.
    func address(_ key: String, defaultPort: Int?, allowsPortZero: Bool = false) -> HostPort? {
        value(key, default: nil, allowed: Self.addressRule(defaultPort)) {
            $0?.description
        } parse: { text in
            HostPort(text, defaultPort: defaultPort, allowsPortZero: allowsPortZero).map(Optional.some)
        }
    }

    /// At least one address.
    func addresses(_ key: String, defaultPort: Int?) -> [HostPort] {
        let allowed = "a list of addresses, each \(Self.addressRule(defaultPort))"
        guard let texts = texts(key) else {
            reportMissing(key, allowed: allowed)
            return []
        }
        if texts.isEmpty { reportMissing(key, allowed: allowed) }
        let addresses = texts.compactMap { text, origin in
            let address = HostPort(text, defaultPort: defaultPort)
            if address == nil { report(key, origin, found: quoted(text), allowed: allowed) }
            return address
        }
        noteValue(key, addresses.map(\.description).joined(separator: ", "), from: texts.first?.origin)
        return addresses
    }

    /// The value of `key` as `parse` makes it of the text; nil from `parse` is a problem, no text is `standard`.
    ///
    /// - Parameter shown: the text of a value for people; nil: it means that nothing is set.
    func value<T>(
        _ key: String,
        default standard: T,
        allowed: String,
        shown: (T) -> String?,
        parse: (String) -> T?
    ) -> T {
        guard let (text, origin) = text(key) else {
            noteValue(key, shown(standard), from: nil)
            return standard
        }
        guard let value = parse(text) else {
            report(key, origin, found: quoted(text), allowed: allowed)
            return standard
        }
        noteValue(key, shown(value), from: origin)
        return value
    }

    private static func alternatives<E: RawRepresentable<String> & CaseIterable>(_ type: E.Type) -> String {
        E.allCases.map(\.rawValue).joined(separator: ", ")
    }

    private static func addressRule(_ defaultPort: Int?) -> String {
        defaultPort.map { "host or host:port (port \($0) if none is given)" } ?? "host:port"
    }

    private func quoted(_ text: String) -> String {
        "\"\(text)\""
    }
}
