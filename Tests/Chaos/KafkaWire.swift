/// The few requests of Kafka's protocol that librdkafka does not offer or that the house has no wrapper for, in their
/// first versions.
///
/// Numbers are big-endian; strings have a length of two bytes, arrays and byte strings one of four.
enum KafkaWire {
    /// A member of a consumer group.
    struct Member: Equatable {
        var identifier: String
        var clientID: String
    }

    struct Malformed: Error {}

    private enum Key {
        static let leaveGroup: Int16 = 13
        static let describeGroups: Int16 = 15
        static let deleteRecords: Int16 = 21
    }

    // MARK: Requests, with the length in front

    static func describeGroup(_ group: String) -> [UInt8] {
        var body = Writer()
        body.add(Int32(1))
        body.add(group)
        return request(Key.describeGroups, body)
    }

    static func leaveGroup(_ group: String, member: String) -> [UInt8] {
        var body = Writer()
        body.add(group)
        body.add(member)
        return request(Key.leaveGroup, body)
    }

    /// Lets the broker forget what stands before an offset, by partition.
    static func deleteRecords(_ topic: String, before offsets: [(partition: Int32, offset: Int64)]) -> [UInt8] {
        var body = Writer()
        body.add(Int32(1))
        body.add(topic)
        body.add(Int32(offsets.count))
        for (partition, offset) in offsets {
            body.add(partition)
            body.add(offset)
        }
        body.add(Int32(5000))
        return request(Key.deleteRecords, body)
    }

    private static func request(_ key: Int16, _ body: Writer) -> [UInt8] {
        var message = Writer()
        message.add(key)
        // Version 0, correlation 1: one request at a time.
        message.add(Int16(0))
        message.add(Int32(1))
        message.add("belfry-chaos")
        var whole = Writer()
        whole.add(Int32(message.bytes.count + body.bytes.count))
        return whole.bytes + message.bytes + body.bytes
    }

    // MARK: Answers, without the length

    /// The members of the one group that was asked for.
    static func members(in answer: [UInt8]) throws(Malformed) -> [Member] {
        var reader = Reader(bytes: answer[...])
        try reader.skip(4)
        guard try reader.int32() == 1 else { throw Malformed() }
        try reader.skip(2)
        for _ in 0..<4 { _ = try reader.string() }
        var members: [Member] = []
        let count = try reader.int32()
        guard count >= 0 else { throw Malformed() }
        for _ in 0..<count {
            members.append(Member(identifier: try reader.string(), clientID: try reader.string()))
            _ = try reader.string()
            for _ in 0..<2 { try reader.skip(max(0, Int(try reader.int32()))) }
        }
        return members
    }

    /// Big-endian numbers and strings with their length.
    private struct Writer {
        var bytes: [UInt8] = []

        mutating func add(_ number: some FixedWidthInteger) {
            withUnsafeBytes(of: number.bigEndian) { bytes += $0 }
        }

        mutating func add(_ string: String) {
            add(Int16(string.utf8.count))
            bytes += string.utf8
        }
    }

    private struct Reader {
        var bytes: ArraySlice<UInt8>

        mutating func skip(_ count: Int) throws(Malformed) {
            guard count <= bytes.count else { throw Malformed() }
            bytes.removeFirst(count)
        }

        mutating func int32() throws(Malformed) -> Int32 {
            guard bytes.count >= 4 else { throw Malformed() }
            defer { bytes.removeFirst(4) }
            return Int32(bitPattern: bytes.prefix(4).reduce(0) { $0 << 8 | UInt32($1) })
        }

        mutating func string() throws(Malformed) -> String {
            guard bytes.count >= 2 else { throw Malformed() }
            let count = Int(Int16(bitPattern: bytes.prefix(2).reduce(0) { $0 << 8 | UInt16($1) }))
            bytes.removeFirst(2)
            // −1 stands for no string.
            guard count > 0 else { return "" }
            guard count <= bytes.count else { throw Malformed() }
            defer { bytes.removeFirst(count) }
            return String(decoding: bytes.prefix(count), as: UTF8.self)
        }
    }
}
