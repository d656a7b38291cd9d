/// The metadata of a committed offset: topics with cursors before it, and done ranges.
///
/// Text form, ASCII. `4;`, eleven characters of ``AppSalt`` in base 64, and `;`; or `3;` without a salt, as earlier
/// versions wrote it. Then the named topics, 15 characters each: 40 bits of ``AppHash`` and 48 bits of cursor; then
/// for each topic with done ranges `;`, its index among the named in base 36, `:` and the ``DoneRanges`` relative to
/// its cursor, without their version. Topics without a name are done below the offset.
///
/// With any names the first is a *mark* and no topic: one of ``AppHash/marks``, and in place of a cursor the offset
/// for which the text was made. A mirror copies the text to a log with other offsets. Versions of this program that do
/// not know marks take it for a topic that lags nowhere.
///
/// The names come first, because they must survive: the lowest cursors, as many as fit. Topics that do not fit hold the
/// offset. Done ranges only spare repetitions and take the remaining room.
public struct PositionMetadata: Equatable, Sendable {
    /// A topic whose cursor lies before the position of the live reader.
    public struct Laggard: Equatable, Sendable {
        public var topic: AppHash
        /// The lowest offset that is not done.
        public var cursor: Int64
        /// Done ranges of the topic's own records, beyond the cursor.
        public var done: DoneRanges

        public init(topic: AppHash, cursor: Int64, done: DoneRanges = DoneRanges()) {
            self.topic = topic
            self.cursor = cursor
            self.done = done
        }
    }

    /// An offset to commit, and its metadata.
    public struct Position: Equatable, Sendable {
        public var offset: Int64
        public var metadata: String
        /// Topics that do not fit into the metadata and hold the offset.
        public var unnamed: Int

        public init(offset: Int64, metadata: String, unnamed: Int = 0) {
            self.offset = offset
            self.metadata = metadata
            self.unnamed = unnamed
        }
    }

    /// The reason why a text is no metadata of a position.
    public enum DecodingError: Error, Equatable {
        /// The text is empty: another program committed.
        case missing
        /// A version that this program does not know.
        case unknownVersion
        case malformed
        /// The text was made for another offset: a mirror has copied it. `lowest` is its lowest cursor.
        case madeFor(offset: Int64, lowest: Int64)
    }

    /// The edition of an owner that is not known, or of several.
    public static let unknownEdition: UInt8 = 0

    /// The key of the topics' hashes.
    public var salt = AppSalt.none
    /// Ascending by cursor.
    public var laggards: [Laggard] = []
    /// The edition of the owner's decoder: with the same one the same records are ``AppHash/refused``.
    public var edition = Self.unknownEdition

    public init() {}

    // MARK: Choosing

    /// The position to commit.
    ///
    /// - Parameters:
    ///   - laggards: every topic with a cursor below the live reader's, in any order; see
    ///     ``AppLedger/cursor(liveNext:committed:)``.
    ///   - liveNext: the next offset of the live reader, or the offset committed before it began if that is higher; the
    ///     offset is never above it.
    ///   - salt: the key of the topics' hashes.
    ///   - limitBytes: most bytes of metadata; 32 or more.
    ///   - edition: of the decoder that told the topics apart; below the number of ``AppHash/marks``.
    ///   - ranges: the done ranges of a named topic, at most so many runs.
    public static func choose(
        _ laggards: [(topic: AppHash, cursor: Int64)],
        liveNext: Int64,
        salt: AppSalt = .none,
        limitBytes: Int,
        edition: UInt8 = Self.unknownEdition,
        ranges: (_ topic: AppHash, _ limit: Int) -> DoneRanges
    ) -> Position {
        let sorted = laggards.sorted { ($0.cursor, $0.topic) < ($1.cursor, $1.topic) }
        let room = capacity(limitBytes: limitBytes, salt: salt)
        let named = sorted.prefix(room).prefix { $0.cursor >> cursorBits == 0 }
        let unnamed = sorted.dropFirst(named.count)
        let offset = min(unnamed.first?.cursor ?? liveNext, liveNext)
        var text = head(salt)
        text.reserveCapacity(limitBytes)
        if !named.isEmpty { append(.mark(edition), min(offset, longestCursor), to: &text) }
        for each in named { append(each.topic, each.cursor, to: &text) }
        for (index, each) in named.enumerated() {
            let prefix = ";\(String(index + 1, radix: 36)):"
            let left = limitBytes - text.count - prefix.utf8.count
            guard left >= DoneRanges.shortestRunBytes else { break }
            let done = ranges(each.topic, left / DoneRanges.shortestRunBytes + 1).dropping(before: each.cursor)
            let encoded = done.encoded(committedOffset: each.cursor, limitBytes: left + DoneRanges.versionBytes)
            guard !encoded.isEmpty else { continue }
            text += prefix.utf8
            text += encoded.utf8.dropFirst(DoneRanges.versionBytes)
        }
        return Position(
            offset: offset,
            metadata: String(decoding: text, as: UTF8.self),
            unnamed: unnamed.count
        )
    }

    /// The number of topics that fit into metadata of `limitBytes`.
    public static func capacity(limitBytes: Int, salt: AppSalt = .none) -> Int {
        max(0, (limitBytes - head(salt).count) / nameBytes - 1)
    }

    // MARK: Text

    private static let version = "3;"
    private static let saltedVersion = "4;"
    private static let saltBytes = 11
    private static let nameBytes = 15
    private static let cursorBits: Int64 = 48
    private static let longestCursor: Int64 = 1 << cursorBits - 1
    private static let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
    private static let values: [UInt8: UInt64] = Dictionary(
        uniqueKeysWithValues: digits.enumerated().map { ($1, UInt64($0)) }
    )

    /// The version, and the salt if there is one.
    private static func head(_ salt: AppSalt) -> [UInt8] {
        guard salt != .none else { return Array(version.utf8) }
        var text = Array(saltedVersion.utf8)
        append(salt.value, digits: saltBytes, to: &text)
        text.append(UInt8(ascii: ";"))
        return text
    }

    /// 88 bits in 15 digits of six bits: the first 45 of them hash and the upper five of the cursor, then the other 43,
    /// so that each half fits a word.
    private static func append(_ topic: AppHash, _ cursor: Int64, to text: inout [UInt8]) {
        let cursor = UInt64(cursor)
        append(topic.value << 8 | cursor >> 40, digits: 8, to: &text)
        append(cursor & (1 << 40 - 1), digits: 7, to: &text)
    }

    private static func append(_ bits: UInt64, digits count: Int, to text: inout [UInt8]) {
        for place in (0..<count).reversed() { text.append(digits[Int(bits >> UInt64(6 * place) & 63)]) }
    }

    private static func read(_ text: ArraySlice<UInt8>) throws(DecodingError) -> UInt64 {
        var bits: UInt64 = 0
        for byte in text {
            guard let value = values[byte] else { throw .malformed }
            bits = bits << 6 | value
        }
        return bits
    }

    /// Reads the metadata of a committed offset.
    public init(decoding text: String, committedOffset: Int64) throws(DecodingError) {
        guard !text.isEmpty else { throw .missing }
        let isSalted = text.hasPrefix(Self.saltedVersion)
        guard isSalted || text.hasPrefix(Self.version) else { throw .unknownVersion }
        var parts = Array(text.utf8.dropFirst(Self.version.utf8.count))
            .split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
        if isSalted {
            guard parts.count > 1, parts[0].count == Self.saltBytes else { throw .malformed }
            salt = AppSalt(try Self.read(parts.removeFirst()))
            guard salt != .none else { throw .malformed }
        }
        let names = parts[0]
        guard names.count % Self.nameBytes == 0 else { throw .malformed }
        var mark: Laggard?
        for start in stride(from: names.startIndex, to: names.endIndex, by: Self.nameBytes) {
            let high = try Self.read(names[start..<start + 8])
            let low = try Self.read(names[start + 8..<start + Self.nameBytes])
            guard low >> 40 == 0 else { throw .malformed }
            let named = Laggard(topic: AppHash(value: high >> 8), cursor: Int64((high & 255) << 40 | low))
            if named.topic.isMark {
                guard start == names.startIndex else { throw .malformed }
                mark = named
                edition = named.topic.edition
                continue
            }
            guard !laggards.contains(where: { $0.topic == named.topic }) else { throw .malformed }
            laggards.append(named)
        }
        if let mark, mark.cursor != min(committedOffset, Self.longestCursor) {
            throw .madeFor(offset: mark.cursor, lowest: laggards.map(\.cursor).min() ?? mark.cursor)
        }
        let first = mark == nil ? 0 : 1
        for part in parts.dropFirst() {
            let halves = part.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
            guard halves.count == 2, let place = Int(String(decoding: halves[0], as: UTF8.self), radix: 36),
                place >= first, place - first < laggards.count
            else { throw .malformed }
            let index = place - first
            do throws(DoneRanges.DecodingError) {
                laggards[index].done = try DoneRanges(
                    decoding: DoneRanges.versionText + String(decoding: halves[1], as: UTF8.self),
                    committedOffset: laggards[index].cursor
                )
            } catch {
                throw .malformed
            }
        }
    }
}
