import BelfrySupport
import Glibc

/// The lines of a file, read piece by piece: memory depends neither on the file nor on its longest line.
struct LineStream: ~Copyable {
    /// Longest line, bytes; of a longer one the beginning is handed over.
    static let limitBytes = 4096

    /// Size of a regular file, bytes.
    let size: Int64
    /// Nanoseconds since 1970.
    let modifiedAt: Int64
    /// Offset of the beginning of the next line.
    private(set) var offset: Int64 = 0

    private let descriptor: Int32
    private let path: String
    private var buffer = [UInt8](repeating: 0, count: 1 << 18)
    private var start = 0
    private var end = 0
    private var isAtEnd = false

    /// Throws `ToolError.invalidInput` for what cannot be read, or is no regular file.
    init(path: String) throws(ToolError) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Self.unreadable(path) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            throw .invalidInput(["\(path): is no regular file"])
        }
        self.path = path
        self.descriptor = descriptor
        size = Int64(status.st_size)
        modifiedAt = Int64(status.st_mtim.tv_sec) * 1_000_000_000 + Int64(status.st_mtim.tv_nsec)
    }

    deinit { close(descriptor) }

    /// The first bytes of the file, `count` at most.
    func beginning(_ count: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        var filled = 0
        while filled < count {
            let result = bytes.withUnsafeMutableBytes { room in
                pread(descriptor, room.baseAddress.map { $0 + filled }, count - filled, off_t(filled))
            }
            if result < 0, errno == EINTR { continue }
            if result <= 0 { break }
            filled += result
        }
        return Array(bytes.prefix(filled))
    }

    /// Goes on at the beginning of a line.
    mutating func seek(to offset: Int64) throws(ToolError) {
        guard lseek(descriptor, off_t(offset), SEEK_SET) == off_t(offset) else { throw Self.unreadable(path) }
        self.offset = offset
        (start, end, isAtEnd) = (0, 0, false)
    }

    /// Hands the next line over, without its end; false: there is none.
    mutating func next(_ body: (UnsafeRawBufferPointer) -> Void) throws(ToolError) -> Bool {
        var searched = start
        while true {
            if let lineEnd = newline(from: searched) {
                hand(over: lineEnd, body)
                offset += Int64(lineEnd + 1 - start)
                start = lineEnd + 1
                return true
            }
            if isAtEnd {
                guard end > start else { return false }
                hand(over: end, body)
                offset += Int64(end - start)
                start = end
                return true
            }
            // Of a long line the beginning is enough.
            let excess = max(0, end - start - Self.limitBytes)
            end -= excess
            offset += Int64(excess)
            let pending = end - start
            try fill()
            searched = start + pending
        }
    }

    private func hand(over lineEnd: Int, _ body: (UnsafeRawBufferPointer) -> Void) {
        buffer.withUnsafeBytes {
            body(UnsafeRawBufferPointer(rebasing: $0[start..<min(lineEnd, start + Self.limitBytes)]))
        }
    }

    private func newline(from: Int) -> Int? {
        buffer.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress, end > from,
                let place = memchr(base + from, 10, end - from)
            else { return nil }
            return UnsafeRawPointer(place) - base
        }
    }

    /// Reads on behind what is there.
    private mutating func fill() throws(ToolError) {
        if start > 0 {
            buffer.replaceSubrange(0..<(end - start), with: buffer[start..<end])
            (start, end) = (0, end - start)
        }
        while true {
            let room = buffer.count - end
            let place = end
            let descriptor = descriptor
            let count = buffer.withUnsafeMutableBytes { read(descriptor, $0.baseAddress.map { $0 + place }, room) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw Self.unreadable(path) }
            end += count
            isAtEnd = count == 0
            return
        }
    }

    private static func unreadable(_ path: String) -> ToolError {
        .invalidInput(["\(path): cannot be read: \(String(cString: strerror(errno)))"])
    }
}
