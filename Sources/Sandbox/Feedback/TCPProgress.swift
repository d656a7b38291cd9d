import Glibc
import NIOCore

/// Amount of a TCP stream that the peer's kernel has. It is known also after the connection has ended.
///
/// Holds a descriptor of its own, for the channel closes its own before its end is heard of. The socket lives
/// until ``close()``, so that is due at once then. Belongs to the channel's event loop.
final class TCPProgress {
    private var descriptor: CInt

    /// Offset of `tcpi_bytes_acked` in `struct tcp_info` of linux/tcp.h. glibc's own declaration ends before it.
    private static let ackedOffset = 120
    private static let informationBytes = 128

    /// - Returns: nil where there is no socket, or no descriptor to be had.
    init?(_ channel: any Channel) {
        let copy = try? channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(of: CInt.self) { socket in
            fcntl(socket, F_DUPFD_CLOEXEC, 0)
        }
        guard let copy, copy >= 0 else { return nil }
        descriptor = copy
    }

    deinit { close() }

    /// Bytes of our stream that the peer's kernel has acknowledged; nil once closed.
    var acknowledgedBytes: UInt64? {
        guard descriptor >= 0 else { return nil }
        return withUnsafeTemporaryAllocation(byteCount: Self.informationBytes, alignment: 8) { information in
            var count = socklen_t(information.count)
            guard
                getsockopt(descriptor, CInt(IPPROTO_TCP), TCP_INFO, information.baseAddress, &count) == 0,
                Int(count) == information.count
            else { return nil }
            let bytes = information.load(fromByteOffset: Self.ackedOffset, as: UInt64.self)
            // The connection's SYN counts as one.
            return bytes - min(bytes, 1)
        }
    }

    func close() {
        guard descriptor >= 0 else { return }
        _ = Glibc.close(descriptor)
        descriptor = -1
    }
}
