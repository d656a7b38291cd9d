import CNghttp2

/// The fields of a request or an answer, pseudo-header fields first, in memory that is reused.
///
/// Made once for many similar messages: write all fields, then replace the values that differ from one message to the
/// next. Nothing is allocated then, and nghttp2 copies neither names nor values.
///
/// ```swift
/// var fields = HTTP2Fields()
/// fields.append(":method", "POST")
/// let path = fields.append(":path", "", indexing: .never)
/// …
/// fields.replaceValue(at: path, byteCount: 10 + hex.count) { … }
/// ```
public struct HTTP2Fields: ~Copyable {
    /// The place of a value in the compression's table (RFC 7541 §2.3.2).
    public enum Indexing: Sendable {
        /// It is put into the table, so that it costs one byte from the second time on. For values that repeat.
        ///
        /// nghttp2 makes exceptions: it never indexes short cookies, nor the values of `:path`, `content-length`,
        /// `location`, and a few others that seldom repeat. `authorization` is indexed, see ``AuthorizationName``.
        case indexed
        /// It stays out of every table on its way, and pushes nothing out of them ("never indexed"). For what is secret
        /// or does not repeat.
        case never
    }

    private struct Field {
        var nameStart: Int
        var nameCount: Int
        var valueStart: Int
        var valueCount: Int
        /// Bytes at `valueStart` that belong to the value: a shorter one leaves room for the next.
        var valueRoom: Int
        var flags: UInt8
        var isAuthorization: Bool
    }

    private var fields: [Field] = []
    private var bytes: [UInt8] = []
    /// One for each field, and before them one for the status of an answer.
    private var pairs: UnsafeMutablePointer<nghttp2_nv>
    private var pairCapacity: Int

    public init() {
        pairCapacity = 16
        pairs = .allocate(capacity: pairCapacity)
        pairs.initialize(repeating: nghttp2_nv(), count: pairCapacity)
    }

    deinit {
        pairs.deallocate()
    }

    /// The number of fields.
    public var count: Int { fields.count }

    /// Adds a field that the caller fills in place.
    ///
    /// - Parameters:
    ///   - name: in lower case, as HTTP/2 demands.
    ///   - byteCount: the exact length of the value.
    ///   - fill: must set every one of the `byteCount` bytes; the pointer is valid during the call only.
    /// - Returns: the field's position, for ``replaceValue(at:byteCount:_:)``.
    @discardableResult
    public mutating func append(
        _ name: String,
        byteCount: Int,
        indexing: Indexing = .indexed,
        _ fill: (UnsafeMutableRawBufferPointer) -> Void
    ) -> Int {
        precondition(!name.isEmpty && name.utf8.allSatisfy { !(65...90).contains($0) }, "names are in lower case")
        let nameStart = bytes.count
        bytes += name.utf8
        var flags = UInt8(NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue | NGHTTP2_NV_FLAG_NO_COPY_VALUE.rawValue)
        if indexing == .never { flags |= UInt8(NGHTTP2_NV_FLAG_NO_INDEX.rawValue) }
        fields.append(
            Field(
                nameStart: nameStart,
                nameCount: name.utf8.count,
                valueStart: bytes.count,
                valueCount: 0,
                valueRoom: 0,
                flags: flags,
                isAuthorization: name == AuthorizationName.plain
            )
        )
        spellAuthorization(at: fields.count - 1)
        if fields.count + 1 > pairCapacity { growPairs() }
        replaceValue(at: fields.count - 1, byteCount: byteCount, fill)
        return fields.count - 1
    }

    /// Adds a field with a value in UTF-8.
    @discardableResult
    public mutating func append(_ name: String, _ value: String, indexing: Indexing = .indexed) -> Int {
        var value = value
        return value.withUTF8 { source in
            append(name, byteCount: source.count, indexing: indexing) { $0.copyBytes(from: source) }
        }
    }

    /// Gives a field another value, which the caller fills in place: see ``append(_:byteCount:indexing:_:)``.
    public mutating func replaceValue(at index: Int, byteCount: Int, _ fill: (UnsafeMutableRawBufferPointer) -> Void) {
        precondition(byteCount >= 0)
        if byteCount > fields[index].valueRoom {
            fields[index].valueStart = bytes.count
            fields[index].valueRoom = byteCount
            bytes.append(contentsOf: repeatElement(0, count: byteCount))
        }
        fields[index].valueCount = byteCount
        let start = fields[index].valueStart
        bytes.withUnsafeMutableBytes {
            fill(UnsafeMutableRawBufferPointer(rebasing: $0[start..<(start + byteCount)]))
        }
    }

    public mutating func replaceValue(at index: Int, _ value: String) {
        var value = value
        value.withUTF8 { source in
            replaceValue(at: index, byteCount: source.count) { $0.copyBytes(from: source) }
        }
    }

    /// Changes the indexing of a field. A name whose value was indexed once is found in the table from then on, and
    /// takes a byte or two: so send a field that never repeats with ``Indexing/indexed`` once, and with
    /// ``Indexing/never`` afterwards.
    public mutating func setIndexing(at index: Int, _ indexing: Indexing) {
        let flag = UInt8(NGHTTP2_NV_FLAG_NO_INDEX.rawValue)
        switch indexing {
        case .indexed: fields[index].flags &= ~flag
        case .never: fields[index].flags |= flag
        }
        spellAuthorization(at: index)
    }

    /// nghttp2 must not recognise the name of a value that is to be indexed.
    private mutating func spellAuthorization(at index: Int) {
        let field = fields[index]
        guard field.isAuthorization else { return }
        bytes[field.nameStart + field.nameCount - 1] =
            Self.isIndexed(field) ? AuthorizationName.disguisedEnd : AuthorizationName.plainEnd
    }

    private static func isIndexed(_ field: Field) -> Bool {
        field.flags & UInt8(NGHTTP2_NV_FLAG_NO_INDEX.rawValue) == 0
    }

    /// Length of an `authorization` that is to be indexed; `nil` if there is none.
    var indexedAuthorizationBytes: Int? {
        fields.first { $0.isAuthorization && Self.isIndexed($0) }?.valueCount
    }

    /// Removes the fields from position `count` on: for those that not every message has, which stand last.
    public mutating func truncate(to count: Int) {
        precondition((0...fields.count).contains(count))
        guard count < fields.count else { return }
        fields.removeLast(fields.count - count)
        // A replaced value may lie behind later fields.
        let end = fields.reduce(0) { max($0, $1.nameStart + $1.nameCount, $1.valueStart + $1.valueRoom) }
        bytes.removeLast(bytes.count - end)
    }

    public mutating func removeAll() {
        truncate(to: 0)
    }

    private mutating func growPairs() {
        let capacity = pairCapacity * 2
        pairs.deallocate()
        pairs = .allocate(capacity: capacity)
        pairs.initialize(repeating: nghttp2_nv(), count: capacity)
        pairCapacity = capacity
    }

    /// Lends nghttp2's form of the fields, valid until `body` returns.
    ///
    /// - Parameter status: stands before the fields, if it is given: three digits.
    func withPairs<Result>(
        status: UnsafeBufferPointer<UInt8>? = nil,
        _ body: (UnsafePointer<nghttp2_nv>, Int) -> Result
    ) -> Result {
        let (fields, pairs) = (self.fields, self.pairs)
        return bytes.withUnsafeBufferPointer { bytes in
            // nghttp2's type is not constant, but it changes neither names nor values.
            let start = UnsafeMutablePointer(mutating: bytes.baseAddress)
            for (index, field) in fields.enumerated() {
                pairs[index + 1] = nghttp2_nv(
                    name: start.map { $0 + field.nameStart },
                    value: start.map { $0 + field.valueStart },
                    namelen: field.nameCount,
                    valuelen: field.valueCount,
                    flags: field.flags
                )
            }
            guard let status else { return body(pairs + 1, fields.count) }
            pairs[0] = nghttp2_nv(
                name: Self.statusName,
                value: UnsafeMutablePointer(mutating: status.baseAddress),
                namelen: 7,
                valuelen: status.count,
                flags: UInt8(NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue | NGHTTP2_NV_FLAG_NO_COPY_VALUE.rawValue)
            )
            return body(pairs, fields.count + 1)
        }
    }

    private static var statusName: UnsafeMutablePointer<UInt8> {
        let name: StaticString = ":status"
        return UnsafeMutablePointer(mutating: name.utf8Start)
    }
}
