import RequestLanes

/// Identifies a request to one token, for dedupe by request id; or a token with a coalescing key.
///
/// 96 bits: among the ten million that one hash tag may hold, the chance that a new one equals any of them is 10⁻²².
public struct RequestFingerprint: Hashable, Sendable {
    public static let bytes = 12

    private let low: UInt64
    private let high: UInt32

    /// The digest shared by all tokens of a request. The key is the rule's version 1. [ours]
    public static func key(requestID: UnsafeRawBufferPointer) -> SipHash {
        SipHash(of: requestID, key: SipHash(low: 1, high: 0))
    }

    /// The digest shared by all tokens of one coalescing key in a lane. Differs from that of a request id of the same
    /// text. [ours]
    public static func key(coalescingKey: UnsafeRawBufferPointer, in lane: RequestLane) -> SipHash {
        SipHash(of: coalescingKey, key: SipHash(low: 2, high: number(of: lane)))
    }

    /// The digest of one place in one record of a lane, for requests without an id. Differs from those of ids and
    /// coalescing keys. [ours]
    ///
    /// - Parameter position: of the token in the record, from 0.
    public static func key(
        partition: Int32,
        offset: Int64,
        position: UInt32,
        in lane: RequestLane
    ) -> SipHash {
        withUnsafeTemporaryAllocation(byteCount: 16, alignment: 8) { room in
            room.storeBytes(of: offset.littleEndian, as: Int64.self)
            room.storeBytes(of: partition.littleEndian, toByteOffset: 8, as: Int32.self)
            room.storeBytes(of: position.littleEndian, toByteOffset: 12, as: UInt32.self)
            return SipHash(of: UnsafeRawBufferPointer(room), key: SipHash(low: 3, high: number(of: lane)))
        }
    }

    /// Of the normal lane 0: Redis may hold what earlier versions made, which knew no lanes.
    private static func number(of lane: RequestLane) -> UInt64 {
        switch lane {
        case .normal: 0
        case .urgent: 1
        case .bulk: 2
        }
    }

    /// Fixed, so that a token alone has a fingerprint: its badge is found by it. Differs from the keys above. [ours]
    public static let tokenKey = SipHash(low: 4, high: 0)

    public init(token: UnsafeRawBufferPointer, key: SipHash) {
        let digest = SipHash(of: token, key: key)
        low = digest.low
        high = UInt32(truncatingIfNeeded: digest.high)
    }

    /// Writes the first twelve bytes of the digest into `room`, which has that size.
    public func write(into room: UnsafeMutableRawBufferPointer) {
        room.storeBytes(of: low.littleEndian, as: UInt64.self)
        room.storeBytes(of: high.littleEndian, toByteOffset: 8, as: UInt32.self)
    }
}
