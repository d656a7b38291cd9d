import Glibc
import Workbench

/// A port of 127.0.0.1 to which every client can connect, and that never sends a byte.
final class SilentListener {
    let port: Int
    private let descriptor: Int32

    init() throws {
        port = try freePort()
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let isBound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(descriptor, address, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        // The listener never accepts: the system completes the connections that wait.
        guard isBound, listen(descriptor, 16) == 0 else {
            throw ChildProcess.Failure(description: "cannot listen on port \(port): errno \(errno)")
        }
    }

    deinit { close(descriptor) }
}
