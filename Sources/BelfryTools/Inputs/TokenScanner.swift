import APNsProtocol
import BelfrySupport
import Glibc
import PushSchemas

/// Finds the tokens in the bytes of a file, which come in pieces of any size. Pure.
///
/// Memory depends neither on the file nor on its longest line.
struct TokenScanner {
    /// The form of the bytes.
    enum Form: Equatable, Sendable {
        case format(TokenFormat)
        /// Each token behind a byte that is its length: our own, for what can be read only once.
        case prefixed

        /// For people who have to provide it.
        var content: String { self == .format(.lines) ? "tokens, one a line," : "packed tokens" }
    }

    /// The place behind the last whole line or token.
    private(set) var place: TokenFilePlace
    private(set) var faults = TokenFileFaults()

    private let form: Form
    /// For messages, a file name for instance.
    private let name: String
    /// Of tokens, bytes; 32 is among them.
    private let lengths: ClosedRange<Int>
    /// The beginning of a line or token that the last piece did not end; of a long line no more than the beginning.
    private var begun: [UInt8] = []
    /// Bytes of it in the file.
    private var begunBytes = 0

    private static let width = SendRequestView.packedTokenBytes
    /// Spreadsheets put it before the first line.
    private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

    init(_ form: Form, name: String, lengths: ClosedRange<Int>, from place: TokenFilePlace = TokenFilePlace()) {
        precondition(lengths.contains(Self.width), "the length of ordinary tokens is always allowed")
        self.form = form
        self.name = name
        self.lengths = lengths
        self.place = place
    }

    /// Takes the next piece of the file.
    ///
    /// - Parameter take: gets each token, valid during the call.
    mutating func scan(_ piece: UnsafeRawBufferPointer, _ take: (UnsafeRawBufferPointer) throws -> Void) throws {
        var rest = piece
        while let count = endOfItem(in: rest) {
            let bytes = UnsafeRawBufferPointer(rebasing: rest[..<count])
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            if begunBytes == 0 {
                try takeItem(bytes, size: count, take)
            } else {
                keep(bytes)
                try takeBegun(take)
            }
        }
        keep(rest)
    }

    /// The file ends here: so does its last line.
    mutating func finish(_ take: (UnsafeRawBufferPointer) throws -> Void) throws {
        guard begunBytes > 0 else { return }
        if form == .format(.lines) { return try takeBegun(take) }
        let size = place.offset + Int64(begunBytes)
        faults.add("\(name): found \(size) bytes; allowed: \(Self.width) for each packed token")
    }

    /// The number of bytes that end the line or token under way; nil: it goes on behind these.
    private func endOfItem(in bytes: UnsafeRawBufferPointer) -> Int? {
        guard let base = bytes.baseAddress, let first = bytes.first else { return nil }
        switch form {
        case .format(.lines):
            return memchr(base, 10, bytes.count).map { UnsafeRawPointer($0) - base + 1 }
        case .format(.packed):
            let count = Self.width - begunBytes
            return count <= bytes.count ? count : nil
        case .prefixed:
            let count = 1 + Int(begun.first ?? first) - begunBytes
            return count <= bytes.count ? count : nil
        }
    }

    private mutating func keep(_ bytes: UnsafeRawBufferPointer) {
        begun += bytes.prefix(LineStream.limitBytes - begun.count)
        begunBytes += bytes.count
    }

    private mutating func takeBegun(_ take: (UnsafeRawBufferPointer) throws -> Void) throws {
        // Out of the scanner, so that it can change meanwhile.
        let (bytes, size) = (begun, begunBytes)
        begun.removeAll()
        begunBytes = 0
        try bytes.withUnsafeBytes { try takeItem($0, size: size, take) }
    }

    /// - Parameter size: of the whole item in the file, of which a long line is only the beginning.
    private mutating func takeItem(
        _ bytes: UnsafeRawBufferPointer,
        size: Int,
        _ take: (UnsafeRawBufferPointer) throws -> Void
    ) throws {
        place.offset += Int64(size)
        switch form {
        case .format(.lines):
            place.lines += 1
            let line = bytes.prefix(LineStream.limitBytes)
            try takeLine(UnsafeRawBufferPointer(rebasing: line.last == 10 ? line.dropLast() : line), take)
        case .format(.packed):
            place.tokens += 1
            try take(bytes)
        case .prefixed:
            place.tokens += 1
            try take(UnsafeRawBufferPointer(rebasing: bytes.dropFirst()))
        }
    }

    private mutating func takeLine(
        _ line: UnsafeRawBufferPointer,
        _ take: (UnsafeRawBufferPointer) throws -> Void
    ) throws {
        // Nearly every line is a token and nothing else.
        if (place.column ?? 0) == 0, try takeOrdinary(line, take) { return }
        guard let digits = digits(in: line) else { return }
        if try takeOrdinary(digits, take) { return }
        let token: [UInt8]
        do throws(RegistrationLine.Fault) {
            token = try RegistrationLine.token(digits, lengths)
        } catch {
            return addFault(error)
        }
        place.tokens += 1
        try token.withUnsafeBytes(take)
    }

    /// False: these are not the digits of a token of 32 bytes.
    private mutating func takeOrdinary(
        _ digits: UnsafeRawBufferPointer,
        _ take: (UnsafeRawBufferPointer) throws -> Void
    ) throws -> Bool {
        var count = digits.count
        if count == 2 * Self.width + 1, digits[count - 1] == 13 { count -= 1 }
        guard count == 2 * Self.width else { return false }
        var token = SIMD32<UInt8>()
        let isHexadecimal = withUnsafeMutableBytes(of: &token) { room in
            do throws(HexError) {
                try Hex.decode(UnsafeRawBufferPointer(rebasing: digits[..<count]), into: room)
                return true
            } catch {
                return false
            }
        }
        guard isHexadecimal else { return false }
        place.column = place.column ?? 0
        place.tokens += 1
        try withUnsafeBytes(of: token, take)
        return true
    }

    /// The field with the token; nil: the line says nothing, is the header, or cannot be split, which is noted.
    private mutating func digits(in line: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        var line = line
        if place.lines == 1, line.starts(with: Self.byteOrderMark) {
            line = UnsafeRawBufferPointer(rebasing: line[Self.byteOrderMark.count...])
        }
        guard RegistrationLine.saysAnything(line) else { return nil }
        do throws(RegistrationLine.Fault) {
            if place.column == nil {
                place.column = 0
                if let column = try RegistrationColumns.tokenColumn(header: line) {
                    place.column = column
                    return nil
                }
            }
            return UnsafeRawBufferPointer(rebasing: try CommaSeparatedLine.field(place.column ?? 0, of: line))
        } catch {
            addFault(error)
            return nil
        }
    }

    private mutating func addFault(_ fault: RegistrationLine.Fault) {
        let number = place.lines
        faults.add("\(name):\(number): \(fault.message)")
    }
}
