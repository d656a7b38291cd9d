import Glibc
import NIOCore

/// An address of loopback whose server lets no connection stand: its queue is full, so that the kernel drops what asks
/// for another. The test closes it.
final class SilentAddress: Sendable {
    /// The server, and the client that fills its queue.
    private let descriptors: [CInt]

    init(_ address: String, port: Int) throws {
        let server = socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        let client = socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        descriptors = [server, client]
        try SocketAddress(ipAddress: address, port: port).withSockAddr { pointer, size in
            // A queue of no length has room for one.
            guard bind(server, pointer, socklen_t(size)) == 0, listen(server, 0) == 0,
                connect(client, pointer, socklen_t(size)) == 0
            else { throw IOError(errnoCode: errno, reason: "silent address") }
        }
    }

    func close() {
        for descriptor in descriptors { _ = Glibc.close(descriptor) }
    }
}
