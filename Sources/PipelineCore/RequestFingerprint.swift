/// Stands for one request to one token: what dedupe by request id compares; or for one token and coalescing key.
///
/// 96 bits: among the ten million that one hash tag may hold, the chance that a new one equals any of them is 10⁻²².
public struct RequestFingerprint: Hashable, Sendable {
    public static let bytes = 12

    private let low: UInt64
    private let high: UInt32

    /// What all tokens of a request share. The key is the rule's version 1. [ours]
    public static func key(requestID: UnsafeRawBufferPointer) -> SipHash {
        SipHash(of: requestID, key: SipHash(low: 1, high: 0))
    }

    /// What all tokens of requests with a coalescing key share. Not the digest of a request id of the same text. [ours]
    public static func key(coalescingKey: UnsafeRawBufferPointer) -> SipHash {
        SipHash(of: coalescingKey, key: SipHash(low: 2, high: 0))
    }

    public init(token: UnsafeRawBufferPointer, key: SipHash) {
        let digest = SipHash(of: token, key: key)
        low = digest.low
        high = UInt32(truncatingIfNeeded: digest.high)
    }

    /// The first twelve bytes of the digest, into room of that size.
    public func write(into room: UnsafeMutableRawBufferPointer) {
        room.storeBytes(of: low.littleEndian, as: UInt64.self)
        room.storeBytes(of: high.littleEndian, toByteOffset: 8, as: UInt32.self)
    }
}
