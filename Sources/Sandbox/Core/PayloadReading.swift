import APNsProtocol

/// What the service and the device have to know of a payload, found in one pass.
struct PayloadReading: Equatable, Sendable {
    /// See ``PayloadMark``.
    let mark: UInt32

    /// Whether a device can parse it: one JSON value (RFC 8259) in UTF-8, nested no deeper than
    /// ``PayloadScanner/depthLimit``. Only the device finds out [talk].
    let isValid: Bool

    /// Whether `aps` holds `content-available`, whatever its value, and none of `alert`, `badge` and `sound`: with
    /// priority 10 that is an error [13]. False when the payload cannot be parsed.
    let isContentAvailableOnly: Bool

    /// - Parameter payload: valid during the call.
    static func read(_ payload: UnsafeRawBufferPointer) -> PayloadReading {
        guard let base = payload.baseAddress else {
            return PayloadReading(mark: PayloadMark.absent, isValid: false, isContentAvailableOnly: false)
        }
        var pass = PayloadReadingPass(input: base, count: payload.count)
        guard pass.run() else {
            let mark = PayloadMark.read(payload)
            return PayloadReading(mark: mark, isValid: false, isContentAvailableOnly: false)
        }
        return PayloadReading(
            mark: pass.mark,
            isValid: true,
            isContentAvailableOnly: pass.hasContentAvailable && !pass.hasSomethingToShow
        )
    }
}

/// The pass of a ``PayloadReading``. Iterative: the containers are a stack of bits, so that depth costs no stack of
/// ours. What it finds counts only if all of the payload is valid.
struct PayloadReadingPass {
    /// What the grammar allows next.
    private enum Expectation {
        case firstKeyOrEnd
        case key
        case firstElementOrEnd
        case element
        case memberValue
        case commaOrEnd
    }

    let input: UnsafeRawPointer
    let count: Int
    /// The next byte to be read.
    var position = 0

    private(set) var mark = PayloadMark.absent
    private(set) var hasContentAvailable = false
    /// `alert`, `badge` or `sound`.
    private(set) var hasSomethingToShow = false

    private var hasMark = false
    /// Whether the last key at the top was `aps`.
    private var isInAps = false
    /// The lowest bit is the innermost container: 1 = object.
    private var containers: UInt64 = 0
    private var depth = 0

    init(input: UnsafeRawPointer, count: Int) {
        self.input = input
        self.count = count
    }

    /// - Returns: whether it is one JSON value.
    mutating func run() -> Bool {
        skipWhiteSpace()
        guard position < count, var expectation = readValue(byte(position)) else { return false }
        while depth > 0 {
            guard let next = step(expectation) else { return false }
            expectation = next
        }
        skipWhiteSpace()
        return position == count
    }

    @inline(__always)
    func byte(_ offset: Int) -> UInt8 {
        input.load(fromByteOffset: offset, as: UInt8.self)
    }
}

extension PayloadReadingPass {
    /// Reads one key with its colon, one value that is no container, one bracket or one comma; `nil` = invalid.
    @inline(__always)
    private mutating func step(_ expectation: Expectation) -> Expectation? {
        skipWhiteSpace()
        guard position < count else { return nil }
        let byte = byte(position)
        switch expectation {
        case .firstKeyOrEnd, .key:
            if byte == UInt8(ascii: "\"") { return readKey() }
            return expectation == .firstKeyOrEnd && byte == UInt8(ascii: "}") ? close() : nil
        case .firstElementOrEnd where byte == UInt8(ascii: "]"):
            return close()
        case .firstElementOrEnd, .element, .memberValue:
            return readValue(byte)
        case .commaOrEnd:
            let isObject = containers & 1 == 1
            if byte == UInt8(ascii: ",") {
                position += 1
                return isObject ? .key : .element
            }
            return byte == (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) ? close() : nil
        }
    }

    @inline(__always)
    private mutating func readKey() -> Expectation? {
        let start = position + 1
        guard skipString() else { return nil }
        let end = position - 1
        skipWhiteSpace()
        guard position < count, byte(position) == UInt8(ascii: ":") else { return nil }
        position += 1
        if depth == 1 {
            noteTopKey(start, end)
        } else if depth == 2, isInAps {
            noteApsKey(start, end)
        }
        return .memberValue
    }

    @inline(__always)
    private mutating func noteTopKey(_ start: Int, _ end: Int) {
        isInAps = isKey(start, end, "aps")
        // As in `PayloadMark`: the first one, written without escapes.
        guard !hasMark, end - start == 1, byte(start) == UInt8(ascii: "n") else { return }
        hasMark = true
        skipWhiteSpace()
        mark = PayloadMark.mark(UnsafeRawBufferPointer(start: input, count: count), valueAt: position)
    }

    @inline(__always)
    private mutating func noteApsKey(_ start: Int, _ end: Int) {
        if isKey(start, end, "alert") || isKey(start, end, "badge") || isKey(start, end, "sound") {
            hasSomethingToShow = true
        } else if isKey(start, end, "content-available") {
            hasContentAvailable = true
        }
    }

    @inline(__always)
    private mutating func readValue(_ byte: UInt8) -> Expectation? {
        switch byte {
        case UInt8(ascii: "\""):
            return skipString() ? .commaOrEnd : nil
        case UInt8(ascii: "{"):
            return open(object: true) ? .firstKeyOrEnd : nil
        case UInt8(ascii: "["):
            return open(object: false) ? .firstElementOrEnd : nil
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            return skipNumber() ? .commaOrEnd : nil
        case UInt8(ascii: "t"):
            return skipLiteral("true") ? .commaOrEnd : nil
        case UInt8(ascii: "f"):
            return skipLiteral("false") ? .commaOrEnd : nil
        case UInt8(ascii: "n"):
            return skipLiteral("null") ? .commaOrEnd : nil
        default:
            return nil
        }
    }

    @inline(__always)
    private mutating func open(object: Bool) -> Bool {
        guard depth < PayloadScanner.depthLimit else { return false }
        depth += 1
        containers = containers << 1 | (object ? 1 : 0)
        position += 1
        return true
    }

    @inline(__always)
    private mutating func close() -> Expectation {
        depth -= 1
        containers >>= 1
        position += 1
        return .commaOrEnd
    }

    @inline(__always)
    private mutating func skipWhiteSpace() {
        while position < count, byte(position) <= UInt8(ascii: " ") {
            switch byte(position) {
            case 0x20, 0x0A, 0x0D, 0x09: position += 1
            default: return
            }
        }
    }
}
