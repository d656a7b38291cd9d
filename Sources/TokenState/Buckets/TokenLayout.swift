import APNsProtocol
import PipelineCore

/// The place of a token in its bundle.
package struct TokenPlace: Equatable, Sendable {
    /// The number of the hash tag, 0...255.
    package var tag: Int
    /// Decides the bucket (``TokenBuckets``); 24 bits.
    package var hash: UInt32

    /// Bytes of the hash.
    package static let hashBytes = 3

    /// Writes a token's field in its bucket. The hash comes first, so that a script can split a bucket without the key.
    ///
    /// - Parameter room: as long as the token and ``hashBytes``.
    package func writeField(of token: UnsafeRawBufferPointer, into room: UnsafeMutableRawBufferPointer) {
        for index in 0..<Self.hashBytes { room[index] = UInt8(truncatingIfNeeded: hash >> (8 * UInt32(index))) }
        UnsafeMutableRawBufferPointer(rebasing: room[Self.hashBytes...]).copyMemory(from: token)
    }
}

/// Gives each token its place, under the secret key of the installation. One layout for all programs of an
/// installation, and for ever: another one would look for the tokens where they are not.
///
/// Tokens that pile up in one bucket cannot be chosen: a publisher that makes tokens up does not know where they lie.
/// The key is in Redis, and never in a log.
package struct TokenLayout: Equatable, Sendable {
    /// The version, as it stands in the names of the keys, so that one layout is never taken for another.
    static let version = 3
    /// The first characters of the names of all buckets.
    static let bucketPrefix = "t\(version):"
    /// The first characters of the names of all directories.
    static let directoryPrefix = "n\(version):"

    private let key: SipHash

    package init(_ key: SipHash) {
        self.key = key
    }

    package func place(of token: UnsafeRawBufferPointer) -> TokenPlace {
        let word = SipHash.word(of: token, key: key)
        return TokenPlace(tag: Int(word >> 56), hash: UInt32(truncatingIfNeeded: word & 0xFF_FFFF))
    }

    package func place(of token: [UInt8]) -> TokenPlace { token.withUnsafeBytes { place(of: $0) } }

    /// The token of a field in a bucket.
    package static func token(ofField field: UnsafeRawBufferPointer) -> [UInt8] {
        Array(field.dropFirst(TokenPlace.hashBytes))
    }

    /// A token's field in its bucket.
    package func field(of token: [UInt8]) -> [UInt8] {
        let place = place(of: token)
        let count = TokenPlace.hashBytes + token.count
        return [UInt8](unsafeUninitializedCapacity: count) { room, initialized in
            token.withUnsafeBytes { place.writeField(of: $0, into: UnsafeMutableRawBufferPointer(room)) }
            initialized = count
        }
    }
}

// MARK: In Redis

extension TokenLayout {
    /// The name of the value in Redis that says the layout.
    package static let name = Array("k:tokens".utf8)

    /// The value: the version, and the key's 16 bytes in hexadecimal digits. A secret.
    package var text: String {
        let bytes = [key.low, key.high].flatMap { word in
            (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * UInt64($0))) }
        }
        return "\(Self.version) \(Hex.encode(bytes))"
    }

    /// Nil: a text of another form, such as that of another version.
    package init?(text: String) {
        let words = text.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 2, words[0] == "\(Self.version)", let bytes = try? Hex.decode(words[1]), bytes.count == 16
        else { return nil }
        func word(_ first: Int) -> UInt64 {
            (0..<8).reduce(0) { $0 | UInt64(bytes[first + $1]) << (8 * UInt64($1)) }
        }
        self.init(SipHash(low: word(0), high: word(8)))
    }
}

extension TokenLayout: CustomStringConvertible, CustomDebugStringConvertible {
    /// Without the key.
    package var description: String { "layout \(Self.version)" }
    package var debugDescription: String { description }
}
