import Glibc

/// Lines from a pipe, each awaited up to a time limit. Owned by one thread; does not own the descriptor.
struct LineReader {
    private let descriptor: Int32
    private var pending: [UInt8] = []
    /// The other side has closed.
    private(set) var isAtEnd = false

    private static let chunkBytes = 4096

    init(descriptor: Int32) {
        self.descriptor = descriptor
    }

    /// The next line without its end; nil when the other side has closed, or said nothing for `milliseconds`.
    mutating func next(milliseconds: Int32) -> String? {
        while true {
            if let end = pending.firstIndex(of: UInt8(ascii: "\n")) {
                defer { pending.removeSubrange(...end) }
                return String(decoding: pending[..<end], as: UTF8.self)
            }
            guard fill(milliseconds: milliseconds) else { return nil }
        }
    }

    private mutating func fill(milliseconds: Int32) -> Bool {
        var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        var ready = poll(&request, 1, milliseconds)
        while ready < 0 && errno == EINTR { ready = poll(&request, 1, milliseconds) }
        guard ready > 0 else { return false }
        var chunk = [UInt8](repeating: 0, count: Self.chunkBytes)
        let count = read(descriptor, &chunk, chunk.count)
        isAtEnd = count <= 0
        guard !isAtEnd else { return false }
        pending += chunk[..<count]
        return true
    }
}
