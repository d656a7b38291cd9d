import APNsProtocol

/// A gateway's word that a token is invalid for topics of one kind; see ``TokenRecord``. Such words end a record.
package struct RefusedKind: Equatable, Sendable {
    /// Bytes in a record: kind (1), time (4).
    static let byteCount = 5

    package var kind: TopicKind
    /// UNIX seconds.
    package var at: UInt32

    /// Reads a row of them; nil: something is left over.
    static func all(in bytes: UnsafeRawBufferPointer) -> [RefusedKind]? {
        guard bytes.count.isMultiple(of: byteCount) else { return nil }
        return stride(from: 0, to: bytes.count, by: byteCount).map { place in
            RefusedKind(
                kind: TopicKind(rawValue: bytes[place]),
                at: UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: place + 1, as: UInt32.self))
            )
        }
    }
}

extension [RefusedKind] {
    /// UNIX seconds of the latest word that a token is dead, for topics of any kind; 0: there is none.
    ///
    /// - Parameter tombstonedAt: of the one for all kinds.
    func latestDeath(besides tombstonedAt: UInt32) -> UInt32 { reduce(tombstonedAt) { Swift.max($0, $1.at) } }
}
