import APNsProtocol

/// Derives the `apns-id` of every notification of one record.
///
/// A notification has the same id in every attempt and at every worker, because the id follows from nothing else than
/// the record's place in Kafka, the request id, the token and the token's index [ours]:
///
///     record = SipHash-2-4, 128 bits, under the key "belfry apns-id 1", of
///              length of the Kafka topic's name (4) · name · partition (4) · offset (8) · request id
///     id     = SipHash-2-4, 128 bits, under the key record, of
///              index (4) · token
///
/// Numbers are little-endian. The id is a UUID of version 8: the bytes of the digest in their order, but for the six
/// bits of version and variant.
public struct NotificationIDs: Sendable {
    private static let version1 = SipHash(low: 0x6120_7972_666C_6562, high: 0x3120_6469_2D73_6E70)

    private let record: SipHash

    /// - Parameters:
    ///   - kafkaTopic: the name of the record's Kafka topic, UTF-8; this and the request id are valid during the call.
    ///   - requestID: may be empty.
    public init(
        kafkaTopic: UnsafeRawBufferPointer,
        partition: Int32,
        offset: Int64,
        requestID: UnsafeRawBufferPointer
    ) {
        let nameEnd = 4 + kafkaTopic.count
        let count = nameEnd + 12 + requestID.count
        record = withUnsafeTemporaryAllocation(byteCount: count, alignment: 1) { room in
            room.storeBytes(of: UInt32(kafkaTopic.count).littleEndian, as: UInt32.self)
            UnsafeMutableRawBufferPointer(rebasing: room[4...]).copyMemory(from: kafkaTopic)
            room.storeBytes(of: partition.littleEndian, toByteOffset: nameEnd, as: Int32.self)
            room.storeBytes(of: offset.littleEndian, toByteOffset: nameEnd + 4, as: Int64.self)
            UnsafeMutableRawBufferPointer(rebasing: room[(nameEnd + 12)...]).copyMemory(from: requestID)
            return SipHash(of: UnsafeRawBufferPointer(room), key: Self.version1)
        }
    }

    /// The id of the notification to a token.
    ///
    /// - Parameters:
    ///   - token: valid during the call.
    ///   - index: of the token in the record: a token that stands there twice gets two notifications.
    public func id(token: UnsafeRawBufferPointer, index: UInt32) -> NotificationID {
        let digest = withUnsafeTemporaryAllocation(byteCount: 4 + token.count, alignment: 1) { room in
            room.storeBytes(of: index.littleEndian, as: UInt32.self)
            UnsafeMutableRawBufferPointer(rebasing: room[4...]).copyMemory(from: token)
            return SipHash(of: UnsafeRawBufferPointer(room), key: record)
        }
        return NotificationID(digestHigh: digest.low.byteSwapped, low: digest.high.byteSwapped)
    }
}
