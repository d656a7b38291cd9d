/// The bytes around the parts of a consumed record, which tell more than librdkafka does.
///
/// It hands out key and value where they lie in the broker's answer, unpacked, unless they are empty. In a record batch
/// of version 2 (Kafka's protocol, "Record Batch") these follow one another: key, length of the value, value, number of
/// headers. Both numbers are zigzag varints.
enum RecordLayout {
    /// It is certain that the record has no headers. Asked for those of such a record, librdkafka allocates four times
    /// before it sees that there are none: more than all else that is done for a record of one token.
    ///
    /// - Parameter value: if it comes right behind the key and its own length, the byte behind it is read.
    /// - Returns: false for a record with headers, and wherever the layout is not proven: without key or value, in a
    ///   message set of versions 0 and 1 (its length has four bytes, and as a varint would have another value), or if
    ///   the two lie apart.
    static func hasNoHeaders(key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) -> Bool {
        numberOfHeaders(key: key, value: value)?.load(as: UInt8.self) == 0
    }

    /// The number of headers from which a record counts as one that cannot be read.
    static let manyHeaders = 8192

    /// The record certainly has ``manyHeaders``, or more: their number takes more than two bytes. To have librdkafka
    /// read a hundred thousand of them takes ten milliseconds, longer than their bytes took to come.
    ///
    /// - Parameter value: the byte behind it is read, and if the number goes on there, the next one.
    /// - Returns: false if the layout is not proven, see ``hasNoHeaders(key:value:)``.
    static func hasManyHeaders(key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) -> Bool {
        guard let number = numberOfHeaders(key: key, value: value) else { return false }
        return number.load(as: UInt8.self) & 0x80 != 0 && number.load(fromByteOffset: 1, as: UInt8.self) & 0x80 != 0
    }

    /// The place of the varint behind the value; nil: the layout is not proven.
    private static func numberOfHeaders(
        key: UnsafeRawBufferPointer,
        value: UnsafeRawBufferPointer
    ) -> UnsafeRawPointer? {
        guard let keyStart = key.baseAddress, let start = value.baseAddress else { return nil }
        let lengthBytes = Int(bitPattern: start) &- Int(bitPattern: keyStart) &- key.count
        guard 1...5 ~= lengthBytes else { return nil }
        var length: UInt64 = 0
        for index in 0..<lengthBytes {
            let byte = keyStart.load(fromByteOffset: key.count + index, as: UInt8.self)
            guard (byte & 0x80 == 0) == (index == lengthBytes - 1) else { return nil }
            length |= UInt64(byte & 0x7F) << (7 * UInt64(index))
        }
        return length == UInt64(value.count) << 1 ? start + value.count : nil
    }
}
