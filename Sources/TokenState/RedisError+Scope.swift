import RedisClient

extension RedisError {
    /// The server will refuse the same command for good, while others work. The key holds another type, or the record
    /// has an unknown form. Not so if the server has no room for its clients: that passes, and concerns all
    /// of them. [ours]
    package var isAboutOneKey: Bool {
        guard case .server(let prefix, _) = self, !isAboutTooManyClients else { return false }
        return Self.lastingPrefixes.contains(prefix)
    }

    /// The server refuses this change for good, because of what its key holds. Another change may well be taken.
    ///
    /// Narrower than ``isAboutOneKey``, for those who give a change up: a right that the user lacks, or a server that
    /// cannot run the scripts, concerns more than this change, is for an operator to mend, and passes.
    ///
    /// Source: Redis' scripting.c and script.c (6.0 to 7.2). [ours]
    package var isLastingRefusal: Bool {
        guard case .server(let prefix, let message) = self else { return false }
        switch prefix {
        case "BELFRY", "WRONGTYPE": return true
        case "ERR":
            // A script that failed on the record's bytes.
            let words = Set(message.split { !$0.isLetter && !$0.isNumber && $0 != "_" })
            return words.contains("user_script") && Self.shortRecord.isSubset(of: words)
        default: return false
        }
    }

    private static let lastingPrefixes: Set<String> = ["WRONGTYPE", "NOPERM", "ERR", "BELFRY"]

    /// Of Lua's `struct.unpack`, for a record that ends too early.
    private static let shortRecord: Set<Substring> = ["data", "string", "too", "short"]
}
