import BelfrySupport
import Glibc

/// An open file. Closed with its last reference, unless it is one of the process's own streams.
final class FileDescriptor {
    private let number: Int32
    private let name: String

    /// One that is open.
    init(_ number: Int32, _ name: String) {
        self.number = number
        self.name = name
    }

    /// - Throws: `ToolError.invalidInput`.
    convenience init(reading path: String) throws(ToolError) {
        let number = open(path, O_RDONLY | O_CLOEXEC)
        guard number >= 0 else { throw .invalidInput(["\(path): cannot be read: \(String(cString: strerror(errno)))"]) }
        self.init(number, path)
        var status = stat()
        guard fstat(number, &status) == 0, status.st_mode & S_IFMT != S_IFDIR else {
            throw .invalidInput(["\(path): is a directory"])
        }
    }

    /// A new file in a directory, without a name: it is gone with the process.
    convenience init(temporaryIn directory: String) throws(ToolError) {
        var template = Array("\(directory)/belfry-tokens-XXXXXX".utf8CString)
        let number = template.withUnsafeMutableBufferPointer { path -> Int32 in
            guard let path = path.baseAddress else { return -1 }
            let number = mkstemp(path)
            if number >= 0 { unlink(path) }
            return number
        }
        guard number >= 0 else {
            throw .notFound("\(directory): cannot be written: \(String(cString: strerror(errno)))")
        }
        _ = fcntl(number, F_SETFD, FD_CLOEXEC)
        self.init(number, "a temporary file in \(directory)")
    }

    deinit {
        if number > STDERR_FILENO { close(number) }
    }

    /// Nil: no regular file.
    var identity: TokenFile.Identity? {
        var status = stat()
        guard fstat(number, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return TokenFile.Identity(
            size: Int64(status.st_size),
            modifiedAt: Int64(status.st_mtim.tv_sec) * 1_000_000_000 + Int64(status.st_mtim.tv_nsec)
        )
    }

    /// Reads on; waits for the first byte.
    ///
    /// - Returns: the number of bytes; 0 at the end.
    func read(into piece: inout [UInt8]) throws(ToolError) -> Int {
        try read { piece.withUnsafeMutableBytes { Glibc.read(number, $0.baseAddress, $0.count) } }
    }

    /// Reads from an offset on.
    ///
    /// - Returns: the number of bytes; 0 at the end.
    func read(into piece: inout [UInt8], at offset: Int64) throws(ToolError) -> Int {
        try read { piece.withUnsafeMutableBytes { pread(number, $0.baseAddress, $0.count, off_t(offset)) } }
    }

    private func read(_ attempt: () -> Int) throws(ToolError) -> Int {
        while true {
            let count = attempt()
            if count >= 0 { return count }
            guard errno == EINTR else {
                throw .invalidInput(["\(name): cannot be read: \(String(cString: strerror(errno)))"])
            }
        }
    }

    /// Writes all of `bytes` behind what was written.
    func append(_ bytes: [UInt8]) throws(ToolError) {
        var written = 0
        while written < bytes.count {
            let count = bytes.withUnsafeBytes { write(number, $0.baseAddress.map { $0 + written }, $0.count - written) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                throw .notFound("\(name): cannot be written: \(String(cString: strerror(errno)))")
            }
            written += count
        }
    }
}

/// Tokens on the disk, each behind a byte with its length.
struct TokenSpool {
    let file: FileDescriptor
    private var waiting: [UInt8] = []

    private static let limitBytes = 1 << 18

    /// In the directory that TMPDIR names, else in /tmp.
    init() throws(ToolError) {
        let directory = getenv("TMPDIR").map { String(cString: $0) } ?? ""
        file = try FileDescriptor(temporaryIn: directory.isEmpty ? "/tmp" : directory)
    }

    /// - Parameter token: at most 255 bytes.
    mutating func append(_ token: UnsafeRawBufferPointer) throws(ToolError) {
        waiting.append(UInt8(token.count))
        waiting.append(contentsOf: token)
        if waiting.count >= Self.limitBytes { try end() }
    }

    /// Writes what is not written yet.
    mutating func end() throws(ToolError) {
        try file.append(waiting)
        waiting.removeAll(keepingCapacity: true)
    }
}
