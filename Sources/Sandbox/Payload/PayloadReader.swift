import Glibc

/// Reads the payloads of a topic one after the other, each as ``PayloadReading/read(_:)`` does.
///
/// A provider sends one payload to many devices, and all that differs then is the number by which an audit tells them
/// apart: a payload that repeats the last one is compared with it, which takes a fraction of the time of reading it.
struct PayloadReader: Sendable {
    /// The last payload that was read, and what was found in it.
    private var last: [UInt8] = []
    private var found = PayloadReading.Findings(reading: .ofNothing)

    /// - Parameter payload: valid during the call.
    @inline(__always)
    mutating func read(_ payload: UnsafeRawBufferPointer) -> PayloadReading {
        if let mark = markOfRepetition(payload) {
            return PayloadReading(
                mark: mark,
                isValid: found.reading.isValid,
                isContentAvailableOnly: found.reading.isContentAvailableOnly
            )
        }
        return readAnew(payload)
    }

    /// The mark of a payload that differs from the last one at most in the number that is the mark; `nil`: it differs
    /// in more. Any integer of the same length leaves the payload what it is but for its mark.
    @inline(__always)
    private func markOfRepetition(_ payload: UnsafeRawBufferPointer) -> UInt32? {
        guard payload.count == last.count, let bytes = payload.baseAddress else { return nil }
        let number = found.number
        let isAlike = last.withUnsafeBytes { last in
            guard let last = last.baseAddress else { return false }
            let (end, rest) = (number.upperBound, payload.count - number.upperBound)
            return memcmp(bytes, last, number.lowerBound) == 0 && memcmp(bytes + end, last + end, rest) == 0
        }
        guard isAlike else { return nil }
        guard !number.isEmpty else { return found.reading.mark }
        return PayloadText(start: bytes, count: payload.count).mark(ofInteger: number)
    }

    @inline(never)
    private mutating func readAnew(_ payload: UnsafeRawBufferPointer) -> PayloadReading {
        found = PayloadReading.find(payload)
        last.removeAll(keepingCapacity: true)
        last.append(contentsOf: payload)
        return found.reading
    }
}
