import RedisClient

extension RedisError {
    /// The server refuses this command for good, because of what its key holds. Other commands may well be taken.
    ///
    /// A right that the user lacks, or a server that cannot run the scripts, concerns more than this command, is for an
    /// operator to mend, and passes: nothing is decided without the answer.
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

    /// The user has no right to the command, or to its keys.
    package var isMissingRight: Bool {
        guard case .server("NOPERM", _) = self else { return false }
        return true
    }

    /// Of Lua's `struct.unpack`, for a record that ends too early.
    private static let shortRecord: Set<Substring> = ["data", "string", "too", "short"]
}
