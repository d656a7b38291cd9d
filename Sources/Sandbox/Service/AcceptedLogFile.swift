import Glibc

/// The file of acceptances, open for writing; see ``AcceptedRecord`` for what is in it.
///
/// Writes block, so it belongs to a thread on which nothing else waits. A write that fails costs records, which are
/// counted, but never leaves half a record behind: the next one is written over it.
struct AcceptedLogFile: ~Copyable {
    private let descriptor: Int32
    /// Offset of the next record in the file, in bytes.
    private var offset: Int

    /// Takes over a descriptor that is open for writing; the next record goes to `offset`.
    init(descriptor: Int32, offset: Int) {
        self.descriptor = descriptor
        self.offset = offset
    }

    deinit {
        close(descriptor)
    }

    /// Opens or creates the file. What is in it stays, if it is about the same topics; half a record at its end is
    /// written over.
    ///
    /// - Throws: ``SandboxSetupError`` naming the file.
    static func open(path: String, topics: [String]) throws(SandboxSetupError) -> AcceptedLogFile {
        let descriptor = Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw failed(path, "cannot be opened") }
        do throws(SandboxSetupError) {
            let offset = try start(of: descriptor, path, header: AcceptedRecord.header(topics: topics))
            return AcceptedLogFile(descriptor: descriptor, offset: offset)
        } catch {
            close(descriptor)
            throw error
        }
    }

    /// Writes or checks the header.
    ///
    /// - Returns: where the next record goes.
    private static func start(
        of descriptor: Int32,
        _ path: String,
        header: [UInt8]
    ) throws(SandboxSetupError) -> Int {
        let end = Int(lseek(descriptor, 0, SEEK_END))
        guard end >= 0 else { throw failed(path, "cannot be appended to") }
        guard end > 0 else {
            let written = header.withUnsafeBytes { write($0, descriptor, 0) }
            guard written == header.count else { throw failed(path, "cannot be written") }
            return header.count
        }
        var found = [UInt8](repeating: 0, count: header.count)
        guard pread(descriptor, &found, found.count, 0) == found.count, found == header else {
            throw SandboxSetupError(subject: path, problem: "exists and is not a log of what these topics accepted")
        }
        return header.count + (end - header.count) / AcceptedRecord.bytes * AcceptedRecord.bytes
    }

    /// Appends the records of a chunk.
    ///
    /// - Returns: how many could not be written, and why.
    mutating func write(_ chunk: AcceptedChunk) -> (lost: Int, reason: String?) {
        guard chunk.count > 0 else { return (0, nil) }
        let wanted = chunk.count * AcceptedRecord.bytes
        let written = chunk.words.withUnsafeBytes { bytes in
            Self.write(UnsafeRawBufferPointer(rebasing: bytes[..<wanted]), descriptor, offset)
        }
        let reason = written < wanted ? String(cString: strerror(errno)) : nil
        let records = written / AcceptedRecord.bytes
        offset += records * AcceptedRecord.bytes
        return (chunk.count - records, reason)
    }

    /// - Returns: how many bytes were written; fewer than there are with `errno` set.
    private static func write(_ bytes: UnsafeRawBufferPointer, _ descriptor: Int32, _ offset: Int) -> Int {
        var written = 0
        while written < bytes.count, let base = bytes.baseAddress {
            let count = pwrite(descriptor, base + written, bytes.count - written, offset + written)
            if count > 0 {
                written += count
            } else if count == 0 || errno != EINTR {
                break
            }
        }
        return written
    }

    private static func failed(_ path: String, _ problem: String) -> SandboxSetupError {
        SandboxSetupError(subject: path, problem: "\(problem): \(String(cString: strerror(errno)))")
    }
}
