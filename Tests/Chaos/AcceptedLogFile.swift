import Foundation

/// Reads what the sandbox writes with `--accepted-log`: every notification it accepted, in order per topic.
///
/// The format, all numbers little-endian: 8 bytes `BELFRYAL`, version (2 bytes, 1), number of topics (2), per topic its
/// name's length (2) and the name; then records of 16 bytes: device (4), mark (4: the payload's `n`), UNIX seconds (4),
/// topic (2), generation of the token (1), zero (1).
enum AcceptedLogFile {
    struct Record: Equatable {
        var device: UInt32
        var mark: UInt32
        var unixSeconds: UInt32
        /// Index into the names at the beginning.
        var topic: Int
        var generation: UInt8
    }

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private static let magic = Array("BELFRYAL".utf8)
    private static let recordBytes = 16
    private static let recordsPerRead = 65_536

    /// - Parameters:
    ///   - names: told the topics, once, before the first record.
    ///   - body: called for each record in the order of the file.
    static func read(
        _ path: String,
        names: ([String]) throws -> Void,
        _ body: (Record) throws -> Void
    ) throws {
        guard let file = FileHandle(forReadingAtPath: path) else {
            throw Failure(description: "\(path) cannot be read")
        }
        defer { try? file.close() }
        let head = try take(12, from: file, path)
        guard Array(head[..<8]) == magic, number16(head, 8) == 1 else {
            throw Failure(description: "\(path) does not begin as a log of acceptances of version 1")
        }
        try names(
            (0..<number16(head, 10)).map { _ in
                let length = number16(try take(2, from: file, path), 0)
                return String(decoding: try take(length, from: file, path), as: UTF8.self)
            }
        )
        while let chunk = try file.read(upToCount: recordsPerRead * recordBytes), !chunk.isEmpty {
            guard chunk.count.isMultiple(of: recordBytes) else {
                throw Failure(description: "\(path) ends within a record")
            }
            try chunk.withUnsafeBytes { bytes in
                for start in stride(from: 0, to: bytes.count, by: recordBytes) {
                    try body(record(UnsafeRawBufferPointer(rebasing: bytes[start..<start + recordBytes])))
                }
            }
        }
    }

    private static func record(_ bytes: UnsafeRawBufferPointer) -> Record {
        Record(
            device: UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: 0, as: UInt32.self)),
            mark: UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: 4, as: UInt32.self)),
            unixSeconds: UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt32.self)),
            topic: Int(UInt16(littleEndian: bytes.loadUnaligned(fromByteOffset: 12, as: UInt16.self))),
            generation: bytes[14]
        )
    }

    private static func take(_ count: Int, from file: FileHandle, _ path: String) throws -> [UInt8] {
        guard count > 0 else { return [] }
        guard let data = try file.read(upToCount: count), data.count == count else {
            throw Failure(description: "\(path) ends within its head")
        }
        return Array(data)
    }

    private static func number16(_ bytes: [UInt8], _ offset: Int) -> Int {
        Int(bytes[offset]) | Int(bytes[offset + 1]) << 8
    }
}
