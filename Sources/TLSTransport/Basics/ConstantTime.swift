import COpenSSL

/// Comparison of secrets in a time that tells nothing of their content.
public enum ConstantTime {
    /// Tells whether both are the same bytes. The time depends on their lengths alone.
    public static func areEqual(_ first: [UInt8], _ second: [UInt8]) -> Bool {
        guard first.count == second.count else { return false }
        return CRYPTO_memcmp(first, second, first.count) == 0
    }
}
