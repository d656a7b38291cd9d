import COpenSSL

/// The short name of a device token in log lines and error texts: a reader that has the token finds its lines, and one
/// that has the lines cannot send to it.
///
/// The first 12 hexadecimal digits of the token's SHA-256 (`printf TOKEN | xxd -r -p | sha256sum | cut -c 1-12`).
public enum TokenHash {
    private static let bytes = 6

    public static func text(_ token: some Sequence<UInt8>) -> String {
        let token = Array(token)
        var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        guard EVP_Digest(token, token.count, &digest, nil, EVP_sha256(), nil) == 1 else { return "unknown" }
        let digits = Array("0123456789abcdef".utf8)
        return String(
            decoding: digest.prefix(bytes).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] },
            as: UTF8.self
        )
    }
}
