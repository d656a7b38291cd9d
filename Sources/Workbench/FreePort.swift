import Glibc

/// A port of 127.0.0.1 on which no server listens, for a server that has to be told its port.
///
/// It is below those that the system gives to connections and to listeners that ask for any: so it is still free when
/// the server binds it, also again after it was stopped.
///
/// - Parameter busDistance: that much above it a second one is free, too.
public func freePort(busDistance: Int = 0) throws -> Int {
    for _ in 0..<100 {
        let port = Int.random(in: 15_000..<(32_000 - busDistance))
        if try isFree(port), try isFree(port + busDistance) { return port }
    }
    throw ChildProcess.Failure(description: "no free port: errno \(errno)")
}

private func isFree(_ port: Int) throws -> Bool {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw ChildProcess.Failure(description: "no socket: errno \(errno)") }
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(port).bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
            bind(descriptor, address, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
        }
    }
}
