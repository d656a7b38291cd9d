import RedisClient

extension RedisError {
    /// The server will refuse the same command for good, while others work. The key holds another type, or the record
    /// has an unknown form. Not so if the server has no room for its clients: that passes, and concerns all
    /// of them. [ours]
    package var isAboutOneKey: Bool {
        guard case .server(let prefix, _) = self, !isAboutTooManyClients else { return false }
        return Self.lastingPrefixes.contains(prefix)
    }

    /// The server refuses this change for good, because of what its key holds or who may touch that key. Another change
    /// may well be taken.
    ///
    /// Narrower than ``isAboutOneKey``, for those who give a change up: what concerns every command (the user may not
    /// call scripts) is for an operator to mend, and passes.
    ///
    /// Source: Redis' scripting.c, script.c and acl.c (6.0 to 7.2). [ours]
    package var isLastingRefusal: Bool {
        guard case .server(let prefix, let message) = self else { return false }
        switch prefix {
        case "BELFRY", "WRONGTYPE": return true
        case "NOPERM": return Self.words(of: message).contains { $0 == "key" || $0 == "keys" }
        case "ERR":
            // A script that failed on the record. Redis 6 wraps what a call inside the script answered.
            let words = Self.words(of: message)
            return words.contains("user_script") && Self.passing.isDisjoint(with: words)
        default: return false
        }
    }

    private static let lastingPrefixes: Set<String> = ["WRONGTYPE", "NOPERM", "ERR", "BELFRY"]

    /// Errors of servers that are not ready, have no room, or were told to stop a script; and of the user's rights.
    private static let passing: Set<Substring> = [
        "BUSY", "CLUSTERDOWN", "LOADING", "MASTERDOWN", "MISCONF", "NOREPLICAS", "OOM", "READONLY", "TRYAGAIN",
        "killed", "ACL", "NOPERM", "permissions", "subcommand",
    ]

    private static func words(of message: String) -> Set<Substring> {
        Set(message.split { !$0.isLetter && !$0.isNumber && $0 != "_" })
    }
}
