import APNsProtocol

/// One line of a file of registrations: `token[,registered at[,locale[,time zone]]]`, the token in hexadecimal digits, the time
/// in UNIX seconds; what is empty or left out is that of the command.
struct RegistrationLine: Equatable, Sendable {
    /// Why a line cannot be used, for a person to read.
    struct Fault: Error, Equatable {
        var message: String
    }

    var token: [UInt8]
    var registeredAt: UInt32?
    var locale: String?
    var timeZone: String?

    /// - Parameters:
    ///   - bytes: without the line's end.
    ///   - lengths: of tokens, bytes.
    /// - Returns: nil for a line that says nothing: blank, or beginning with `#`.
    static func parse(
        _ bytes: UnsafeRawBufferPointer,
        lengths: ClosedRange<Int>
    ) throws(Fault) -> RegistrationLine? {
        var fields = bytes.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false).map(trimmed)
        if fields.count == 1, fields[0].isEmpty { return nil }
        if let first = fields.first?.first, first == UInt8(ascii: "#") { return nil }
        guard fields.count <= 4 else {
            throw Fault(message: "\(fields.count) fields; allowed: token, registered at, locale, time zone")
        }
        let digits = fields.removeFirst()
        var line = RegistrationLine(token: try token(UnsafeRawBufferPointer(rebasing: digits), lengths))
        if let text = fields.first, !text.isEmpty {
            guard let seconds = UInt32(String(decoding: text, as: UTF8.self)), seconds > 0 else {
                throw Fault(
                    message: "registered at \"\(String(decoding: text.prefix(24), as: UTF8.self))\"; "
                        + "allowed: UNIX seconds, 1...\(UInt32.max)"
                )
            }
            line.registeredAt = seconds
        }
        if fields.count > 1 { line.locale = try self.text(fields[1], "locale") }
        if fields.count > 2 { line.timeZone = try self.text(fields[2], "time zone") }
        let faults = TokenTexts.faults(locale: line.locale ?? "", timeZone: line.timeZone ?? "")
        guard faults.isEmpty else { throw Fault(message: faults.joined(separator: "; ")) }
        return line
    }

    private init(token: [UInt8]) {
        self.token = token
    }

    private static func token(
        _ digits: UnsafeRawBufferPointer,
        _ lengths: ClosedRange<Int>
    ) throws(Fault) -> [UInt8] {
        var token = [UInt8](repeating: 0, count: digits.count / 2)
        let fault: HexError? = token.withUnsafeMutableBytes { output in
            do throws(HexError) {
                try Hex.decode(digits, into: output)
                return nil
            } catch {
                return error
            }
        }
        if let fault { throw Fault(message: "the token \(fault)") }
        guard lengths.contains(token.count) else {
            throw Fault(
                message: "the token has \(token.count) bytes; allowed: \(lengths.lowerBound)...\(lengths.upperBound)"
            )
        }
        return token
    }

    private static func text(_ bytes: Slice<UnsafeRawBufferPointer>, _ name: String) throws(Fault) -> String? {
        if bytes.isEmpty { return nil }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw Fault(message: "the \(name) is not UTF-8")
        }
        return text
    }

    private static func trimmed(_ field: Slice<UnsafeRawBufferPointer>) -> Slice<UnsafeRawBufferPointer> {
        func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") || byte == 13 }
        var field = field.drop(while: isBlank)
        while let last = field.last, isBlank(last) { field = field.dropLast() }
        return field
    }
}
