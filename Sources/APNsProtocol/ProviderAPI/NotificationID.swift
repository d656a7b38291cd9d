/// The value of `apns-id`: a UUID that names one notification in the answers of the provider API [later].
public struct NotificationID: Hashable, Sendable {
    /// Bytes 0–7, big-endian.
    public let high: UInt64
    /// Bytes 8–15.
    public let low: UInt64

    /// Length of the text: 32 digits in groups of 8, 4, 4, 4 and 12.
    public static let textBytes = 36

    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// A UUID of version 8 from 128 bits of a digest (RFC 9562 §5.8): all of them but the six of version and variant.
    public init(digestHigh high: UInt64, low: UInt64) {
        self.high = high & ~0xF000 | 0x8000
        self.low = low & ~(0b11 << 62) | 0b10 << 62
    }

    /// Reads the text form, in either case; nil for anything else. Version and variant are not judged.
    public init?(_ text: UnsafeRawBufferPointer) {
        guard text.count == Self.textBytes else { return nil }
        var (high, low) = (UInt64(0), UInt64(0))
        for (index, byte) in text.enumerated() {
            if Self.isHyphen(index) {
                guard byte == UInt8(ascii: "-") else { return nil }
                continue
            }
            guard let digit = Hex.value(byte) else { return nil }
            high = high << 4 | low >> 60
            low = low << 4 | UInt64(digit)
        }
        self.init(high: high, low: low)
    }

    /// Reads the text form of a string: for the cold path.
    public init?(_ text: some StringProtocol) {
        guard let id = Array(text.utf8).withUnsafeBytes({ NotificationID($0) }) else { return nil }
        self = id
    }

    /// Writes the text form.
    ///
    /// - Parameters:
    ///   - output: ``textBytes`` bytes at least; a shorter one traps.
    ///   - isUpperCase: as the service writes ids of its own [field].
    public func write(into output: UnsafeMutableRawBufferPointer, isUpperCase: Bool = false) {
        precondition(output.count >= Self.textBytes, "the text of a UUID has \(Self.textBytes) bytes")
        let letters = UInt8(ascii: isUpperCase ? "A" : "a") - 10
        var (high, low) = (self.high, self.low)
        for index in 0..<Self.textBytes {
            if Self.isHyphen(index) {
                output[index] = UInt8(ascii: "-")
                continue
            }
            let digit = UInt8(truncatingIfNeeded: high >> 60)
            output[index] = digit < 10 ? UInt8(ascii: "0") + digit : letters + digit
            high = high << 4 | low >> 60
            low <<= 4
        }
    }

    /// The text form, in lower case or as the service writes ids of its own.
    public func text(isUpperCase: Bool = false) -> String {
        String(unsafeUninitializedCapacity: Self.textBytes) { output in
            write(into: UnsafeMutableRawBufferPointer(output), isUpperCase: isUpperCase)
            return Self.textBytes
        }
    }

    private static func isHyphen(_ index: Int) -> Bool {
        index == 8 || index == 13 || index == 18 || index == 23
    }
}

extension NotificationID: CustomStringConvertible {
    /// The text form, in lower case.
    public var description: String { text() }
}
