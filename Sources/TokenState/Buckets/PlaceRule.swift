import APNsProtocol
import PipelineCore
import PushSchemas

/// The version of the layout in Redis. It stands in the names of the keys, so that one is never taken for the other.
package enum TokenLayout: UInt8, CaseIterable, Sendable {
    /// Places that can be worked out from a token. Of installations that are older than the other layout.
    case unkeyed = 2
    /// Places that follow from a key of the installation, too.
    case keyed = 3

    /// As it stands in the names of the keys.
    var digit: UInt8 { UInt8(ascii: "0") + rawValue }

    /// Bytes of a token's field before the token.
    package var fieldPrefixBytes: Int { self == .keyed ? TokenPlace.hashBytes : 0 }

    /// The token of a field.
    package func token(ofField field: UnsafeRawBufferPointer) -> [UInt8] { Array(field.dropFirst(fieldPrefixBytes)) }
}

/// The place of a token in its bundle.
package struct TokenPlace: Equatable, Sendable {
    /// The number of the hash tag, 0...255.
    package var tag: Int
    /// Decides the bucket (``TokenBuckets``); 24 bits.
    package var hash: UInt32

    /// Bytes of the hash.
    package static let hashBytes = 3
}

/// Gives each token its place. One rule for all programs of an installation, and for ever: another one would look for
/// the tokens where they are not.
///
/// With a key tokens that pile up in one bucket cannot be chosen: a publisher that makes tokens up does not know where
/// they lie. The key is a secret; it is in Redis, and never in a log.
package struct PlaceRule: Equatable, Sendable {
    /// Nil: layout 2.
    private let key: SipHash?

    private init(key: SipHash?) {
        self.key = key
    }

    /// The rule of layout 2: CRC-32 and a polynomial.
    package static let unkeyed = PlaceRule(key: nil)

    /// The rule of layout 3 under a key.
    package static func keyed(_ key: SipHash) -> PlaceRule { PlaceRule(key: key) }

    package var layout: TokenLayout { key == nil ? .unkeyed : .keyed }

    /// - Parameter checksum: CRC-32 of the token.
    package func place(of token: UnsafeRawBufferPointer, checksum: UInt32) -> TokenPlace {
        guard let key else { return TokenPlace(tag: Int(checksum >> 24), hash: TokenBuckets.polynomial(token)) }
        let word = SipHash.word(of: token, key: key)
        return TokenPlace(tag: Int(word >> 56), hash: UInt32(truncatingIfNeeded: word & 0xFF_FFFF))
    }

    package func place(of token: [UInt8]) -> TokenPlace {
        token.withUnsafeBytes { place(of: $0, checksum: key == nil ? CRC32.checksum($0) : 0) }
    }

    /// The number of a token's hash tag.
    ///
    /// - Parameter checksum: CRC-32 of the token.
    package func tag(of token: UnsafeRawBufferPointer, checksum: UInt32) -> Int {
        key == nil ? Int(checksum >> 24) : place(of: token, checksum: checksum).tag
    }

    /// Writes the token's field in its bucket. In layout 3 its hash comes first, so that a script can split a bucket
    /// without the key.
    ///
    /// - Parameter room: as long as the token and ``TokenLayout/fieldPrefixBytes``.
    package func writeField(
        of token: UnsafeRawBufferPointer,
        at place: TokenPlace,
        into room: UnsafeMutableRawBufferPointer
    ) {
        guard key != nil else { return room.copyMemory(from: token) }
        for index in 0..<TokenPlace.hashBytes {
            room[index] = UInt8(truncatingIfNeeded: place.hash >> (8 * UInt32(index)))
        }
        UnsafeMutableRawBufferPointer(rebasing: room[TokenPlace.hashBytes...]).copyMemory(from: token)
    }

    /// A token's field in its bucket.
    package func field(of token: [UInt8]) -> [UInt8] {
        let place = place(of: token)
        let count = layout.fieldPrefixBytes + token.count
        return [UInt8](unsafeUninitializedCapacity: count) { room, initialized in
            token.withUnsafeBytes { writeField(of: $0, at: place, into: UnsafeMutableRawBufferPointer(room)) }
            initialized = count
        }
    }
}

// MARK: In Redis

extension PlaceRule {
    /// The name of the value in Redis that says the rule.
    package static let name = Array("k:tokens".utf8)

    /// The value: the layout, and in layout 3 the key's 16 bytes in hexadecimal digits. A secret.
    package var text: String {
        guard let key else { return "\(layout.rawValue)" }
        let bytes = [key.low, key.high].flatMap { word in
            (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * UInt64($0))) }
        }
        return "\(layout.rawValue) \(Hex.encode(bytes))"
    }

    /// Nil: a text of another form, such as that of a later layout.
    package init?(text: String) {
        let words = text.split(separator: " ", omittingEmptySubsequences: false)
        switch (words.first, words.count) {
        case ("2"?, 1):
            self = .unkeyed
        case ("3"?, 2):
            guard let bytes = try? Hex.decode(words[1]), bytes.count == 16 else { return nil }
            func word(_ first: Int) -> UInt64 {
                (0..<8).reduce(0) { $0 | UInt64(bytes[first + $1]) << (8 * UInt64($1)) }
            }
            self = .keyed(SipHash(low: word(0), high: word(8)))
        default:
            return nil
        }
    }
}

extension PlaceRule: CustomStringConvertible, CustomDebugStringConvertible {
    /// Without the key.
    package var description: String { "layout \(layout.rawValue)" }
    package var debugDescription: String { description }
}
