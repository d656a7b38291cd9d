/// The name of a signing key for provider tokens: its team and its id [later].
///
/// Connections are kept apart by it.
public struct ProviderKeyID: Hashable, Sendable {
    /// The longest team or key id, in characters. Apple's have 10.
    public static let limitBytes = 32

    /// The team's id: the issuer of tokens.
    public let team: String
    /// The key's id, as in the name `AuthKey_<key id>.p8`.
    public let key: String

    /// - Returns: nil if one of the two cannot be an id: 1 to 32 letters and digits of ASCII.
    public init?(team: String, key: String) {
        guard Self.isID(team), Self.isID(key) else { return nil }
        self.team = team
        self.key = key
    }

    /// The text can be the ID of a team or of a key.
    public static func isID(_ text: String) -> Bool {
        (1...limitBytes).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: false
                }
            }
    }
}

extension ProviderKeyID: CustomStringConvertible {
    /// E.g. `key ABC123DEFG of team DEF123GHIJ`.
    public var description: String { "key \(key) of team \(team)" }
}
