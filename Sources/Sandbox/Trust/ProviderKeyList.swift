import APNsProtocol

/// `keys.json` of the PKI directory: the keys whose provider tokens the service takes, with their public halves.
struct ProviderKeyList: Codable, Equatable, Sendable {
    /// The reach of a key [later].
    enum Scope: String, Codable, Sendable {
        /// All topics of the team. Those are listed, too, and grow when more are written.
        case team
        /// The topics that are listed.
        case topics
    }

    struct Key: Codable, Equatable, Sendable {
        /// `development`, `production` or both.
        var environments: [String]
        let id: String
        /// PEM.
        var publicKey: String
        let scope: Scope
        let team: String
        /// Bundle IDs.
        var topics: [String]
    }

    var keys: [Key] = []

    /// The id of a key: the same for the same team, topic and environment, so that scripts can rely on it.
    ///
    /// - Parameter topic: of a key for one topic; nil: the team's.
    static func id(team: String, topic: String?, environment: PushEnvironment) -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".utf8)
        let hash = TextHash.fnv1a("\(environment)/\(team)/\(topic ?? "")")
        // Ten characters, as Apple's have.
        let characters = stride(from: 59, to: 9, by: -5).map { alphabet[Int(hash >> UInt64($0) & 31)] }
        return String(decoding: characters, as: UTF8.self)
    }

    /// Adds a key, or topics to one that is there. The public half is that of the file now.
    mutating func add(_ key: Key) {
        guard let index = keys.firstIndex(where: { $0.id == key.id && $0.team == key.team }) else {
            keys.append(key)
            return
        }
        keys[index].publicKey = key.publicKey
        keys[index].topics += key.topics.filter { !keys[index].topics.contains($0) }
    }
}
