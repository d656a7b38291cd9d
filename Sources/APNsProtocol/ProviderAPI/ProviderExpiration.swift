/// The value of `apns-expiration`: UNIX seconds; 0 for one attempt without storing [later].
public enum ProviderExpiration {
    /// Most digits that are read [ours].
    private static let mostDigits = 13

    /// Reads a header's value: nothing but 1 to 13 digits; nil for anything else.
    public static func seconds(headerValue: UnsafeRawBufferPointer) -> Int64? {
        guard (1...mostDigits).contains(headerValue.count) else { return nil }
        var seconds: Int64 = 0
        for byte in headerValue {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
            seconds = seconds * 10 + Int64(byte - UInt8(ascii: "0"))
        }
        return seconds
    }
}
