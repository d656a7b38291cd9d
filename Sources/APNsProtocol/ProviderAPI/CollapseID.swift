/// The rule for `apns-collapse-id`: of several notifications with one id the device shows the last [later].
public enum CollapseID {
    /// The longest id, in bytes.
    public static let limitBytes = 64

    /// The bytes can be an id: 1 to 64 that a header may carry, no white space at the ends (RFC 9113 §8.2.1).
    public static func isValid(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let first = bytes.first, let last = bytes.last, bytes.count <= limitBytes else { return false }
        return first != 0x20 && last != 0x20 && bytes.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
    }
}
