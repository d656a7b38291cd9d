import APNsProtocol
import BelfrySupport
import PushSchemas
import TokenState

/// One line of a file of registrations: `token[,registered at[,locale[,time zone]]]`, or in the order of the file's
/// header. The token is in hexadecimal digits; what is empty or left out is that of the command.
struct RegistrationLine: Equatable, Sendable {
    /// The reason that a line cannot be used, for a person to read.
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
    /// - Returns: nil for a line that says nothing.
    static func parse(
        _ bytes: UnsafeRawBufferPointer,
        columns: RegistrationColumns = .standard,
        lengths: ClosedRange<Int>
    ) throws(Fault) -> RegistrationLine? {
        guard saysAnything(bytes) else { return nil }
        let fields = try CommaSeparatedLine.fields(of: bytes)
        guard fields.count <= columns.fields.count else {
            throw Fault(message: "\(counted(fields.count, "field")); allowed: \(columns.names)")
        }
        var line = RegistrationLine(token: [])
        for (field, text) in zip(columns.fields, fields) {
            switch field {
            case .token: line.token = try token(UnsafeRawBufferPointer(rebasing: text), lengths)
            case .registeredAt: line.registeredAt = try time(text)
            case .locale: line.locale = try self.text(text, "locale")
            case .timeZone: line.timeZone = try self.text(text, "time zone")
            }
        }
        if line.token.isEmpty { line.token = try token(UnsafeRawBufferPointer(start: nil, count: 0), lengths) }
        let faults = TokenTexts.faults(locale: line.locale ?? "", timeZone: line.timeZone ?? "")
        guard faults.isEmpty else { throw Fault(message: faults.joined(separator: "; ")) }
        return line
    }

    /// False for a line that is blank, or begins with `#`.
    static func saysAnything(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let first = CommaSeparatedLine.trimmed(bytes[...]).first else { return false }
        return first != UInt8(ascii: "#")
    }

    private init(token: [UInt8]) {
        self.token = token
    }

    /// - Parameter text: see ``PrintedToken``.
    static func token(
        _ text: UnsafeRawBufferPointer,
        _ lengths: ClosedRange<Int>
    ) throws(Fault) -> [UInt8] {
        let digits = PrintedToken.digits(text)
        var token = [UInt8](repeating: 0, count: digits.count / 2)
        let fault: HexError? = token.withUnsafeMutableBytes { output in
            do throws(HexError) {
                _ = try digits.span.withUnsafeBytes { digits throws(HexError) in try Hex.decode(digits, into: output) }
                return nil
            } catch {
                return error
            }
        }
        if let fault { throw Fault(message: "the token \(fault)") }
        guard lengths.contains(token.count) else {
            throw Fault(message: RecordRefusal.tokenLength(token.count, allowed: lengths).detail)
        }
        return token
    }

    private static func time(_ bytes: Slice<UnsafeRawBufferPointer>) throws(Fault) -> UInt32? {
        if bytes.isEmpty { return nil }
        let text = String(decoding: bytes, as: UTF8.self)
        guard let seconds = RegistrationTime.parse(text) else {
            throw Fault(message: "registered at \"\(text.prefix(24))\"; allowed: \(RegistrationTime.allowed)")
        }
        return seconds
    }

    private static func text(_ bytes: Slice<UnsafeRawBufferPointer>, _ name: String) throws(Fault) -> String? {
        if bytes.isEmpty { return nil }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw Fault(message: "the \(name) is not UTF-8")
        }
        return text
    }
}
