import APNsProtocol

/// Facts about a payload for the service and the device, found in one pass.
struct PayloadReading: Equatable, Sendable {
    /// See ``PayloadMark``.
    let mark: UInt32

    /// A device can parse the payload. That takes one JSON value (RFC 8259) in UTF-8, nested no deeper than
    /// ``PayloadScanner/depthLimit``. Only the device finds out [talk].
    let isValid: Bool

    /// `aps` holds `content-available` and nothing to show. Its value does not matter; none of `alert`, `badge` and
    /// `sound` is there. With priority 10 that is an error [13]. False when the payload cannot be parsed.
    let isContentAvailableOnly: Bool

    /// The reading of an empty payload.
    static let ofNothing = PayloadReading(mark: PayloadMark.absent, isValid: false, isContentAvailableOnly: false)

    /// A reading, and what it depends on.
    struct Findings {
        let reading: PayloadReading
        /// Offsets of the number that is the mark; empty: the mark is none, or the payload is not valid.
        var number = 0..<0
    }

    /// - Parameter payload: valid during the call.
    static func read(_ payload: UnsafeRawBufferPointer) -> PayloadReading {
        find(payload).reading
    }

    /// - Parameter payload: valid during the call.
    static func find(_ payload: UnsafeRawBufferPointer) -> Findings {
        guard let base = payload.baseAddress else { return Findings(reading: ofNothing) }
        var pass = PayloadReadingPass(PayloadText(start: base, count: payload.count))
        guard pass.run() else {
            let mark = PayloadMark.read(payload)
            return Findings(reading: PayloadReading(mark: mark, isValid: false, isContentAvailableOnly: false))
        }
        let reading = PayloadReading(
            mark: pass.mark,
            isValid: true,
            isContentAvailableOnly: pass.hasContentAvailable && !pass.hasSomethingToShow
        )
        return Findings(reading: reading, number: pass.markedNumber)
    }
}

/// The pass of a ``PayloadReading``. Iterative: the containers are a stack of bits, so that depth costs no stack of
/// ours. What it finds counts only if all of the payload is valid.
///
/// It is on the way of every notification: where the pass stands is kept in local variables and handed from function
/// to function, so that it stays in registers.
struct PayloadReadingPass {
    private let text: PayloadText
    private(set) var mark = PayloadMark.absent
    private(set) var hasContentAvailable = false
    /// `alert`, `badge` or `sound`.
    private(set) var hasSomethingToShow = false

    private var hasMark = false
    /// Offset of the number that becomes the mark, once its end is known.
    private var numberStart = -1
    /// Offsets of the number that is the mark; empty: there is none.
    private(set) var markedNumber = 0..<0
    /// The last key at the top level was `aps`.
    private var isInAps = false

    init(_ text: PayloadText) {
        self.text = text
    }

    /// - Returns: whether it is one JSON value.
    @inline(__always)
    mutating func run() -> Bool {
        // The lowest bit is the innermost container: 1 = object.
        var containers: UInt64 = 0
        var depth = 0
        var strings = StringMarks()
        let text = text
        var position = text.skipWhiteSpace(0)
        while true {
            if containers & 1 == 1 {
                position = readKey(text, position, depth, &strings)
                guard position >= 0 else { return false }
            }
            guard position < text.count else { return false }
            let byte = text.byte(position)
            switch byte {
            case UInt8(ascii: "\""):
                position = text.endOfString(position &+ 1, &strings)
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                guard depth < PayloadScanner.depthLimit else { return false }
                position = text.skipWhiteSpace(position &+ 1)
                // The closing ones come two behind the opening ones.
                if position < text.count, text.byte(position) == byte &+ 2 {
                    position &+= 1
                    break
                }
                depth &+= 1
                containers = containers << 1 | (byte == UInt8(ascii: "{") ? 1 : 0)
                continue
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
                let end = text.endOfNumber(position)
                if position == numberStart, end > position {
                    mark = text.mark(ofNumberAt: position, endingAt: end)
                    markedNumber = position..<end
                }
                position = end
            default:
                position = text.endOfLiteral(position)
            }
            guard position >= 0 else { return false }
            // Behind a value: the ends of its containers, and then another value.
            while true {
                position = text.skipWhiteSpace(position)
                guard depth > 0 else { return position == text.count }
                guard position < text.count else { return false }
                let byte = text.byte(position)
                position &+= 1
                if byte == UInt8(ascii: ",") { break }
                guard byte == (containers & 1 == 1 ? UInt8(ascii: "}") : UInt8(ascii: "]")) else { return false }
                depth &-= 1
                containers >>= 1
            }
            position = text.skipWhiteSpace(position)
        }
    }

    /// Reads a key with its colon.
    ///
    /// - Returns: where its value begins; -1 = there is no key, or no colon.
    @inline(__always)
    private mutating func readKey(
        _ text: PayloadText,
        _ quote: Int,
        _ depth: Int,
        _ strings: inout StringMarks
    ) -> Int {
        guard quote < text.count, text.byte(quote) == UInt8(ascii: "\"") else { return -1 }
        let start = quote &+ 1
        strings.hasMetEscape = false
        let end = text.endOfString(start, &strings)
        guard end >= 0 else { return -1 }
        let colon = text.skipWhiteSpace(end)
        guard colon < text.count, text.byte(colon) == UInt8(ascii: ":") else { return -1 }
        let value = text.skipWhiteSpace(colon &+ 1)
        if depth == 1 {
            noteTopKey(start, end &- 1, value, strings.hasMetEscape)
        } else if depth == 2, isInAps {
            noteApsKey(start, end &- 1, strings.hasMetEscape)
        }
        return value
    }

    @inline(__always)
    private mutating func noteTopKey(_ start: Int, _ end: Int, _ value: Int, _ hasEscapes: Bool) {
        isInAps = text.isKey(start, end, "aps", hasEscapes)
        // As in `PayloadMark`: the first one, written without escapes.
        guard end &- start == 1, text.byte(start) == UInt8(ascii: "n"), !hasMark else { return }
        hasMark = true
        if value < text.count, text.byte(value) &- UInt8(ascii: "0") < 10 {
            numberStart = value
        } else {
            mark = text.mark(ofValueAt: value)
        }
    }

    @inline(__always)
    private mutating func noteApsKey(_ start: Int, _ end: Int, _ hasEscapes: Bool) {
        if text.isKey(start, end, "alert", hasEscapes) || text.isKey(start, end, "badge", hasEscapes)
            || text.isKey(start, end, "sound", hasEscapes)
        {
            hasSomethingToShow = true
        } else if text.isKey(start, end, "content-available", hasEscapes) {
            hasContentAvailable = true
        }
    }
}
