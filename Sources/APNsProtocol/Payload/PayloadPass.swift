/// One pass over a payload. Iterative: the containers are a stack of bits, so that depth uses no call stack.
///
/// Kept bytes are copied in runs between white space; without any, that is one copy at the end.
struct PayloadPass {
    /// The tokens that the grammar allows next.
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

    /// The number of bytes written of the result.
    private(set) var written = 0
    private let output: UnsafeMutableRawPointer
    private let limitBytes: Int
    /// The first byte that is read but not copied.
    private var runStart = 0
    /// Offset of the first kept byte over the limit; -1 if there is none.
    private var overLimitOffset = -1

    /// The lowest bit is the innermost container: 1 = object.
    private var containers: UInt64 = 0
    private var depth = 0
    /// Offset of the key `aps`; -1 if there is none.
    private var apsOffset = -1

    init(input: UnsafeRawPointer, count: Int, output: UnsafeMutableRawPointer, limitBytes: Int) {
        self.input = input
        self.count = count
        self.output = output
        self.limitBytes = limitBytes
    }

    /// Reads everything; afterwards ``written`` is the length of the result.
    mutating func run(_ aps: ApsRule) throws(PayloadError) {
        try openPayload()
        var expectation = Expectation.firstKeyOrEnd
        while depth > 0 {
            expectation = try step(expectation)
        }
        let end = position
        skipWhiteSpace()
        guard position == count else { throw broken(.trailingContent) }
        if runStart < end { keepRun(upTo: end) }
        switch aps {
        case .required: if apsOffset < 0 { throw PayloadError(rule: .apsMissing, offset: end - 1) }
        case .optional: break
        case .forbidden: if apsOffset >= 0 { throw PayloadError(rule: .apsForbidden, offset: apsOffset) }
        }
        if written > limitBytes {
            let rule = PayloadRule.tooLarge(strippedBytes: written, limitBytes: limitBytes)
            throw PayloadError(rule: rule, offset: overLimitOffset)
        }
    }

    /// The error for the byte at ``position``, or for a payload that ends there.
    func broken(_ rule: PayloadRule) -> PayloadError {
        PayloadError(rule: position < count ? rule : .unexpectedEnd, offset: position)
    }
}

extension PayloadPass {
    private mutating func openPayload() throws(PayloadError) {
        skipWhiteSpace()
        guard position < count else { throw PayloadError(rule: .empty, offset: 0) }
        guard input.byte(at: position) == UInt8(ascii: "{") else {
            throw broken(beginsWithByteOrderMark ? .byteOrderMark : .notAnObject)
        }
        try open(object: true)
    }

    private var beginsWithByteOrderMark: Bool {
        count >= 3 && input.byte(at: 0) == 0xEF && input.byte(at: 1) == 0xBB && input.byte(at: 2) == 0xBF
    }

    /// Reads one key with its colon, one value that is no container, one bracket or one comma.
    @inline(__always)
    private mutating func step(_ expectation: Expectation) throws(PayloadError) -> Expectation {
        skipWhiteSpace()
        guard position < count else { throw broken(.unexpectedEnd) }
        let byte = input.byte(at: position)
        switch expectation {
        case .firstKeyOrEnd, .key:
            if byte == UInt8(ascii: "\"") {
                return try readKey()
            }
            if byte == UInt8(ascii: "}") {
                guard expectation == .firstKeyOrEnd else { throw broken(.trailingComma) }
                return close()
            }
            throw broken(.expectedKey)
        case .firstElementOrEnd, .element:
            if byte == UInt8(ascii: "]") {
                guard expectation == .firstElementOrEnd else { throw broken(.trailingComma) }
                return close()
            }
            return try readValue(byte)
        case .memberValue:
            return try readValue(byte)
        case .commaOrEnd:
            let isObject = containers & 1 == 1
            if byte == UInt8(ascii: ",") {
                position += 1
                return isObject ? .key : .element
            }
            guard byte == (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) else { throw broken(.expectedCommaOrEnd) }
            return close()
        }
    }

    @inline(__always)
    private mutating func readKey() throws(PayloadError) -> Expectation {
        let start = position
        let hasEscapes = try skipString()
        let isAps = depth == 1 && keyIsAps(from: start + 1, to: position - 1, hasEscapes: hasEscapes)
        skipWhiteSpace()
        guard position < count, input.byte(at: position) == UInt8(ascii: ":") else { throw broken(.expectedColon) }
        position += 1
        if isAps {
            guard apsOffset < 0 else { throw PayloadError(rule: .apsDuplicate, offset: start) }
            apsOffset = start
            skipWhiteSpace()
            guard position < count, input.byte(at: position) == UInt8(ascii: "{") else { throw broken(.apsNotAnObject) }
        }
        return .memberValue
    }

    @inline(__always)
    private mutating func readValue(_ byte: UInt8) throws(PayloadError) -> Expectation {
        switch byte {
        case UInt8(ascii: "\""):
            _ = try skipString()
        case UInt8(ascii: "{"):
            try open(object: true)
            return .firstKeyOrEnd
        case UInt8(ascii: "["):
            try open(object: false)
            return .firstElementOrEnd
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            try skipNumber()
        case UInt8(ascii: "t"):
            try skipLiteral("true")
        case UInt8(ascii: "f"):
            try skipLiteral("false")
        case UInt8(ascii: "n"):
            try skipLiteral("null")
        default:
            throw broken(.expectedValue)
        }
        return .commaOrEnd
    }

    @inline(__always)
    private mutating func open(object: Bool) throws(PayloadError) {
        guard depth < PayloadScanner.depthLimit else { throw broken(.tooDeep) }
        depth += 1
        containers = containers << 1 | (object ? 1 : 0)
        position += 1
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
        // Every white space character is at most a space: one comparison for the usual case.
        guard position < count, input.byte(at: position) <= UInt8(ascii: " ") else { return }
        stripWhiteSpace()
    }

    private mutating func stripWhiteSpace() {
        let start = position
        while position < count, Self.isWhiteSpace(input.byte(at: position)) {
            position += 1
        }
        guard position > start else { return }
        keepRun(upTo: start)
        runStart = position
    }

    private static func isWhiteSpace(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r")
            || byte == UInt8(ascii: "\t")
    }

    private mutating func keepRun(upTo end: Int) {
        let run = end - runStart
        if written + run > limitBytes, overLimitOffset < 0 {
            overLimitOffset = runStart + limitBytes - written
        }
        // The two may overlap: the written part never overtakes the read part.
        (output + written).copyMemory(from: input + runStart, byteCount: run)
        written += run
    }
}
