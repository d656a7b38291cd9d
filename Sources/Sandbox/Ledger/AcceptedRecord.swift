/// One acceptance in the file of `--accepted-log`.
///
/// The file, all numbers little-endian:
///
/// | bytes | content |
/// |---|---|
/// | 8 | `BELFRYAL` |
/// | 2 | version: 1 |
/// | 2 | number of topics |
/// | per topic: 2 + n | length and UTF-8 of its name; the first topic has index 0 |
/// | 16 each, to the end | records |
///
/// A record:
///
/// | bytes | content |
/// |---|---|
/// | 0–3 | device |
/// | 4–7 | mark, see ``PayloadMark`` |
/// | 8–11 | when it was accepted, UNIX seconds |
/// | 12–13 | index of the topic |
/// | 14 | generation of the token |
/// | 15 | zero |
///
/// The records of one topic are in the order of acceptance.
struct AcceptedRecord: Sendable, Equatable {
    static let bytes = 16
    static let magic = Array("BELFRYAL".utf8)
    static let version: UInt16 = 1

    let topic: UInt16
    let instance: AppInstance
    let mark: UInt32
    let time: UInt32

    init(topic: UInt16, instance: AppInstance, mark: UInt32, time: UInt32) {
        self.topic = topic
        self.instance = instance
        self.mark = mark
        self.time = time
    }

    /// From the two words of a record, as they are in the memory of any machine.
    init(_ first: UInt64, _ second: UInt64) {
        let (first, second) = (UInt64(littleEndian: first), UInt64(littleEndian: second))
        instance = AppInstance(
            device: UInt32(truncatingIfNeeded: first),
            generation: UInt8(truncatingIfNeeded: second >> 48)
        )
        mark = UInt32(truncatingIfNeeded: first >> 32)
        time = UInt32(truncatingIfNeeded: second)
        topic = UInt16(truncatingIfNeeded: second >> 32)
    }

    /// The two words of the record, to be put into memory as they are.
    @inline(__always)
    var words: (UInt64, UInt64) {
        (
            (UInt64(instance.device) | UInt64(mark) << 32).littleEndian,
            (UInt64(time) | UInt64(topic) << 32 | UInt64(instance.generation) << 48).littleEndian
        )
    }

    /// The beginning of the file: magic bytes, version and topics.
    ///
    /// - Parameter topics: at most 65,535, of at most 65,535 bytes each; traps otherwise.
    static func header(topics: [String]) -> [UInt8] {
        var header = magic
        func append(_ number: UInt16) {
            header.append(UInt8(truncatingIfNeeded: number))
            header.append(UInt8(truncatingIfNeeded: number >> 8))
        }
        append(version)
        append(UInt16(topics.count))
        for topic in topics {
            append(UInt16(topic.utf8.count))
            header += topic.utf8
        }
        return header
    }
}

/// Acceptances on their way into the file: what the gateway leaves here another thread writes.
struct AcceptedChunk: Sendable {
    /// Two words per record, ``count`` of them written.
    private(set) var words: [UInt64]
    private(set) var count = 0
    /// Number of records that found no room since the last time.
    private(set) var dropped = 0

    private let limit: Int

    /// - Parameter limit: in records; 0 = nothing is recorded.
    init(limit: Int) {
        self.limit = limit
        words = .unwritten(count: limit * 2)
    }

    /// Acceptances are recorded at all.
    @inline(__always)
    var isRecording: Bool { limit > 0 }

    @inline(__always)
    mutating func append(_ record: AcceptedRecord) {
        guard count < limit else {
            dropped += 1
            return
        }
        let (first, second) = record.words
        words[count * 2] = first
        words[count * 2 + 1] = second
        count += 1
    }

    mutating func clear() {
        count = 0
        dropped = 0
    }
}
