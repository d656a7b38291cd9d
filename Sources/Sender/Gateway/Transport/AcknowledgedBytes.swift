import NIOCore

/// Asks the kernel for the bytes of a TCP stream that the peer's kernel has acknowledged.
///
/// Bound to its channel's event loop; a question is one system call.
struct AcknowledgedBytes {
    private let socket: any SocketOptionProvider

    /// The first 128 bytes of `struct tcp_info` of linux/tcp.h; glibc's own declaration ends before the field.
    private struct Information: Sendable {
        /// Multiples of eight bytes from the start; `tcpi_bytes_acked` is at byte 120.
        var words: InlineArray<16, UInt64>
    }

    private static let bytesAckedWord = 15

    /// - Returns: nil if the count is not available: no TCP socket, or a kernel that does not tell (after a handshake,
    ///   the count includes at least our bytes of it).
    init?(_ channel: any Channel) {
        guard let socket = channel as? any SocketOptionProvider else { return nil }
        self.socket = socket
        guard let count = streamBytes, count > 0 else { return nil }
    }

    /// Bytes of our stream that the peer's kernel has acknowledged; nil if the socket is gone.
    var streamBytes: UInt64? {
        var count: UInt64?
        let answer: EventLoopFuture<Information> = socket.unsafeGetSocketOption(level: .tcp, name: .tcp_info)
        // On the channel's own event loop the future is fulfilled before it is returned.
        answer.assumeIsolated().whenSuccess { count = $0.words[Self.bytesAckedWord] }
        // The connection's SYN counts as one.
        return count.map { $0 - min($0, 1) }
    }
}
