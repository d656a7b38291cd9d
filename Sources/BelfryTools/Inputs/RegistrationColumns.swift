/// The order of a registration's fields in the columns of a file.
struct RegistrationColumns: Equatable, Sendable {
    enum Field: String, Sendable, CaseIterable {
        case token
        case registeredAt = "registered at"
        case locale
        case timeZone = "time zone"

        /// Letters alone, as header lines write them in any manner: "Registered-At", "time_zone", "timeZone".
        fileprivate var letters: String { rawValue.replacing(" ", with: "") }
    }

    let fields: [Field]

    /// The columns of a file without a header line.
    static let standard = RegistrationColumns(fields: Field.allCases)

    private init(fields: [Field]) {
        self.fields = fields
    }

    /// The columns that a header line names. Nil: the line is none, for no column of it is called token.
    ///
    /// - Throws: a header line that names something else, or one column twice.
    init?(header line: UnsafeRawBufferPointer) throws(RegistrationLine.Fault) {
        // A line that cannot be split is told with the others.
        guard let names = try? CommaSeparatedLine.fields(of: line).map({ String(decoding: $0, as: UTF8.self) }),
            names.contains(where: { Self.letters(of: $0) == Field.token.letters })
        else { return nil }
        var fields: [Field] = []
        for name in names {
            guard let field = Field.allCases.first(where: { $0.letters == Self.letters(of: name) }) else {
                throw .init(message: "the header names \"\(name.prefix(24))\"; allowed: \(Self.standard.names)")
            }
            guard !fields.contains(field) else {
                throw .init(message: "the header names \"\(field.rawValue)\" twice")
            }
            fields.append(field)
        }
        self.fields = fields
    }

    /// The column of the tokens in a header line, whatever the others are called. Nil: the line is none.
    ///
    /// - Throws: a header line that names two.
    static func tokenColumn(header line: UnsafeRawBufferPointer) throws(RegistrationLine.Fault) -> Int? {
        // A line that cannot be split is told with the others.
        guard let names = try? CommaSeparatedLine.fields(of: line).map({ String(decoding: $0, as: UTF8.self) })
        else { return nil }
        let places = names.indices.filter { letters(of: names[$0]) == Field.token.letters }
        guard places.count < 2 else { throw .init(message: "the header names \"\(Field.token.rawValue)\" twice") }
        return places.first
    }

    /// For messages.
    var names: String { fields.map(\.rawValue).joined(separator: ", ") }

    private static func letters(of name: String) -> String {
        name.lowercased().filter(\.isLetter)
    }
}
