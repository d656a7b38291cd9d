extension ConfigurationSection {
    /// The value of `key`; `standard` if nothing is said, or what is said is wrong, which is a problem.
    func value<T: Sendable>(_ key: String, _ rule: ValueRule<T>, default standard: T) -> T {
        guard let (text, origin) = text(key) else {
            noteValue(key, rule.shown(standard), from: nil)
            return standard
        }
        let isPath = rule.form == .path && !text.isEmpty
        guard let value = rule.parse(isPath ? reader.resolve(text) : text) else {
            report(key, origin, found: "\"\(text)\"", allowed: rule.form.allowed)
            return standard
        }
        noteValue(key, rule.shown(value), from: origin)
        return value
    }

    /// At least one of the names of a type, each once, in the order of the type; all if nothing is said.
    func choices<Choice: RawRepresentable<String> & CaseIterable & Comparable>(_ key: String) -> [Choice] {
        let all = Array(Choice.allCases)
        let allowed = ValueForm.choices(all.map(\.rawValue)).allowed
        guard let texts = texts(key) else {
            noteValue(key, all.map(\.rawValue).joined(separator: ", "), from: nil)
            return all
        }
        if texts.isEmpty { reportMissing(key, allowed: allowed) }
        let chosen = texts.compactMap { text, origin in
            let choice = Choice(rawValue: text)
            if choice == nil { report(key, origin, found: "\"\(text)\"", allowed: allowed) }
            return choice
        }
        let sorted = all.filter(chosen.contains)
        noteValue(key, sorted.map(\.rawValue).joined(separator: ", "), from: texts.first?.origin)
        return sorted
    }

    /// At least one address.
    func addresses(_ key: String, defaultPort: Int) -> [HostPort] {
        let allowed = ValueForm.addresses(defaultPort: defaultPort).allowed
        guard let texts = texts(key) else {
            reportMissing(key, allowed: allowed)
            return []
        }
        if texts.isEmpty { reportMissing(key, allowed: allowed) }
        let addresses = texts.compactMap { text, origin in
            let address = HostPort(text, defaultPort: defaultPort)
            if address == nil { report(key, origin, found: "\"\(text)\"", allowed: allowed) }
            return address
        }
        noteValue(key, addresses.map(\.description).joined(separator: ", "), from: texts.first?.origin)
        return addresses
    }
}
