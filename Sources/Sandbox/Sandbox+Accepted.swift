import FoundationEssentials
import Glibc

extension Sandbox {
    /// The acceptances in a file that `--accepted-log` has written, as lines of JSON:
    /// `{"topic":"A","device":1,"generation":0,"n":5,"time":"2013-04-23T09:30:00.000Z"}`, where `n` is the value of the
    /// custom payload key `n` when that is an integer below 2³¹, a hash of 2³¹ and above when it is something else, and
    /// 4294967295 when there is none.
    ///
    /// A file that is being written may end in half a record, which is left out.
    ///
    /// - Throws: ``SandboxSetupError`` when the file cannot be read or is something else, and whatever `body` throws.
    public static func forEachAcceptance(file path: String, _ body: (String) throws -> Void) throws {
        let data: Data
        do {
            data = try Data(contentsOf: URL(filePath: path), options: .alwaysMapped)
        } catch {
            throw SandboxSetupError(subject: path, problem: "cannot be read")
        }
        try data.withUnsafeBytes { bytes in
            guard let (topics, start) = header(of: bytes) else {
                throw SandboxSetupError(subject: path, problem: "is not a log of acceptances")
            }
            var offset = start
            while bytes.count - offset >= AcceptedRecord.bytes {
                let record = AcceptedRecord(
                    bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self),
                    bytes.loadUnaligned(fromByteOffset: offset + 8, as: UInt64.self)
                )
                guard Int(record.topic) < topics.count else {
                    throw SandboxSetupError(subject: path, problem: "has no topic for the record at byte \(offset)")
                }
                let instance = record.instance
                try body(
                    "{\"topic\":\(topics[Int(record.topic)]),\"device\":\(instance.device),"
                        + "\"generation\":\(instance.generation),\"n\":\(record.mark),"
                        + "\"time\":\"\(UTCText.text(unixSeconds: record.time))\"}"
                )
                offset += AcceptedRecord.bytes
            }
        }
    }

    /// The topics, quoted for JSON, and where the first record begins; `nil` when this is no header.
    private static func header(of bytes: UnsafeRawBufferPointer) -> (topics: [String], end: Int)? {
        var offset = 0
        func number() -> Int? {
            guard bytes.count - offset >= 2 else { return nil }
            defer { offset += 2 }
            return Int(UInt16(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt16.self)))
        }
        guard bytes.starts(with: AcceptedRecord.magic) else { return nil }
        offset = AcceptedRecord.magic.count
        guard number() == Int(AcceptedRecord.version), let count = number() else { return nil }
        var topics: [String] = []
        for _ in 0..<count {
            guard let length = number(), bytes.count - offset >= length else { return nil }
            let name = String(decoding: bytes[offset..<offset + length], as: UTF8.self)
            guard let quoted = try? JSONEncoder().encode(name) else { return nil }
            topics.append(String(decoding: quoted, as: UTF8.self))
            offset += length
        }
        return (topics, offset)
    }
}
