import Foundation

extension ConsoleConfiguration {
    /// The token in a file: its only line.
    public static func bearerToken(fromFile path: String) throws(ConsoleSetupError) -> String {
        guard let data = FileManager.default.contents(atPath: path), data.count <= 4096 else {
            throw ConsoleSetupError("bearer-token-file: \(path) cannot be read")
        }
        let token = String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        // Anything else would end the request's line, or is no token at all.
        guard !token.isEmpty, token.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else {
            throw ConsoleSetupError("bearer-token-file: \(path) holds something else than a token on one line")
        }
        return token
    }
}
