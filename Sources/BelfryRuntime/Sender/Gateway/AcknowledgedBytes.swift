import NIOCore

/// Asks the kernel how much of a TCP connection's stream the peer's kernel has acknowledged.
///
/// Lives on its channel's event loop; a question is one system call.
struct AcknowledgedBytes {
    private let socket: any SocketOptionProvider

    /// The first 128 bytes of `struct tcp_info` of linux/tcp.h; glibc's own declaration ends before the field.
    private struct Information: Sendable {
        /// Multiples of eight bytes from the start; `tcpi_bytes_acked` is at byte 120.
        var words: InlineArray<16, UInt64>
    }

    private static let bytesAckedWord = 15

    /// - Returns: nil where the count is not to be had: no TCP socket, or a kernel that does not tell (after a handshake
    ///   it has at least what we said in it).
    init?(_ channel: any Channel) {
        guard let socket = channel as? any SocketOptionProvider else { return nil }
        self.socket = socket
        guard let count = streamBytes, count > 0 else { return nil }
    }

    /// Bytes of our stream that the peer's kernel has; nil if the socket is gone.
    var streamBytes: UInt64? {
        var count: UInt64?
        let answer: EventLoopFuture<Information> = socket.unsafeGetSocketOption(level: .tcp, name: .tcp_info)
        // On the channel's own event loop the future is fulfilled before it is returned.
        answer.assumeIsolated().whenSuccess { count = $0.words[Self.bytesAckedWord] }
        // The connection's SYN counts as one.
        return count.map { $0 - min($0, 1) }
    }
}
