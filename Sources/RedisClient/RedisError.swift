public import NIOCore

/// The reason why a command has no reply. Each case answers every caller's first question: did the command run?
public enum RedisError: Error, Sendable, Equatable {
    /// The command did not reach the server: it definitely did not run. It may safely be sent again.
    case notSent(reason: String)

    /// The connection died after the command was handed to it and before its reply came: it may or may not have run.
    /// Only a command that is harmless to repeat should be sent again.
    case maybeExecuted(reason: String)

    /// The server answered with an error. `prefix` is its first word (`ERR`, `WRONGTYPE`, `NOSCRIPT`, …), `message` the
    /// rest. A script that fails half-way keeps the writes it has made.
    case server(prefix: String, message: String)

    /// No reply within the command time-out; the connection is given up. The command may or may not have run.
    case timeout(after: TimeAmount)

    /// The connection was closed by its owner before the command was sent: it definitely did not run.
    case closed

    /// The server has no room for one more connection. It says so in place of the first answer, and closes: later there
    /// may be room.
    ///
    /// Source: Redis documentation, "Redis client handling", "Maximum concurrent connected clients".
    public var isAboutTooManyClients: Bool {
        guard case .server("ERR", let message) = self else { return false }
        return message.hasPrefix("max number of clients")
    }

    /// The server did not run the command because it is a replica, or on its way to being one.
    ///
    /// A connection is made only to a server that serves. `LOADING` on it says that the server has become a replica
    /// since, and reads what its master has sent. Refusals of a master, for want of memory, disks or replicas, are none
    /// of these: no other server is to be had behind its name.
    ///
    /// Source: Redis' server.c, `processCommand`; before 7.0 a script's error stands inside of another (script.c).
    var isOfReplica: Bool {
        guard case .server(let prefix, let message) = self else { return false }
        switch prefix {
        case "READONLY", "MASTERDOWN", "LOADING": return true
        case "ERR": return message.hasPrefix("Error running script") && message.contains("-READONLY ")
        default: return false
        }
    }

    /// Splits the text of an error reply (`-PREFIX message`, without the dash) by the server's convention.
    static func server(text: String) -> RedisError {
        let words = text.split(separator: " ", maxSplits: 1)
        return .server(prefix: String(words.first ?? ""), message: words.count > 1 ? String(words[1]) : "")
    }
}

extension RedisError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .notSent(let reason): "not sent: \(reason)"
        case .maybeExecuted(let reason): "may or may not have run: \(reason)"
        case .server(let prefix, let message): message.isEmpty ? prefix : "\(prefix) \(message)"
        case .timeout(let after):
            "may or may not have run: no reply within \(after.nanoseconds / 1_000_000) ms"
        case .closed: "not sent: the connection was closed"
        }
    }
}
