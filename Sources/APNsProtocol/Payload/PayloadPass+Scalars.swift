extension PayloadPass {
    /// Reads one of the three literals, whose first byte has been seen.
    mutating func skipLiteral(_ literal: StaticString) throws(PayloadError) {
        for index in 0..<literal.utf8CodeUnitCount {
            guard position < count, input.byte(at: position) == literal.utf8Start[index] else {
                throw broken(.invalidLiteral)
            }
            position += 1
        }
    }

    /// Reads a number: `-`? (`0` | `1`-`9` digits) (`.` digits)? (`e` sign? digits)? (RFC 8259 §6).
    mutating func skipNumber() throws(PayloadError) {
        if input.byte(at: position) == UInt8(ascii: "-") { position += 1 }
        let leadingZero = position < count && input.byte(at: position) == UInt8(ascii: "0")
        let start = position
        try skipDigits()
        if leadingZero, position - start > 1 {
            throw PayloadError(rule: .invalidNumber, offset: start)
        }
        if position < count, input.byte(at: position) == UInt8(ascii: ".") {
            position += 1
            try skipDigits()
        }
        // 0x20 is the difference between the cases.
        if position < count, input.byte(at: position) | 0x20 == UInt8(ascii: "e") {
            position += 1
            if position < count, isSign(input.byte(at: position)) { position += 1 }
            try skipDigits()
        }
    }

    private mutating func skipDigits() throws(PayloadError) {
        let start = position
        while position < count, isDigit(input.byte(at: position)) {
            position += 1
        }
        guard position > start else { throw broken(.invalidNumber) }
    }

    private func isSign(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-")
    }

    private func isDigit(_ byte: UInt8) -> Bool {
        byte &- UInt8(ascii: "0") < 10
    }
}
