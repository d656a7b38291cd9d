/// One line of comma-separated values, as RFC 4180 has them.
///
/// Blanks around a field do not count: files written by hand have them. A quoted field ends on its line, and holds no
/// quotation mark: no value that is read here has either.
enum CommaSeparatedLine {
    typealias Field = Slice<UnsafeRawBufferPointer>

    private static let comma = UInt8(ascii: ",")
    private static let quote = UInt8(ascii: "\"")

    /// The fields without quotes; at least one.
    static func fields(of line: UnsafeRawBufferPointer) throws(RegistrationLine.Fault) -> [Field] {
        guard line.contains(quote) else {
            return line.split(separator: comma, omittingEmptySubsequences: false).map(trimmed)
        }
        var fields: [Field] = []
        var rest = line[...]
        while true {
            let field = rest.drop(while: isBlank)
            if field.first == quote {
                fields.append(try quoted(field.dropFirst(), &rest))
            } else {
                let end = rest.firstIndex(of: comma) ?? rest.endIndex
                fields.append(trimmed(rest[..<end]))
                rest = rest[end...]
            }
            guard rest.first == comma else { return fields }
            rest = rest.dropFirst()
        }
    }

    /// One field, without quotes; of a line that has fewer, nothing.
    static func field(_ index: Int, of line: UnsafeRawBufferPointer) throws(RegistrationLine.Fault) -> Field {
        guard !line.contains(quote) else {
            let fields = try fields(of: line)
            return index < fields.count ? fields[index] : line[line.endIndex...]
        }
        var rest = line[...]
        for _ in 0..<index {
            guard let end = rest.firstIndex(of: comma) else { return line[line.endIndex...] }
            rest = rest[(end + 1)...]
        }
        return trimmed(rest[..<(rest.firstIndex(of: comma) ?? rest.endIndex)])
    }

    /// - Parameters:
    ///   - text: behind the opening quotation mark.
    ///   - rest: set to what follows the field: nothing, or a comma.
    private static func quoted(_ text: Field, _ rest: inout Field) throws(RegistrationLine.Fault) -> Field {
        guard let end = text.firstIndex(of: quote) else {
            throw .init(message: "a quotation mark opens a field, and none on the line closes it")
        }
        rest = text[(end + 1)...]
        guard rest.first != quote else { throw .init(message: "a field has a quotation mark in it") }
        rest = rest.drop(while: isBlank)
        guard rest.isEmpty || rest.first == comma else {
            throw .init(message: "a closing quotation mark is followed by something else than a comma")
        }
        return text[..<end]
    }

    static func trimmed(_ field: Field) -> Field {
        var field = field.drop(while: isBlank)
        while let last = field.last, isBlank(last) { field = field.dropLast() }
        return field
    }

    /// The carriage return is that of a line's end.
    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") || byte == 13
    }
}
