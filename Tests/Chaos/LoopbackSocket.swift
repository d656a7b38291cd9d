import Glibc

/// A connection to a server of this machine, for a question and its answer. Blocks, for a few seconds at most.
struct LoopbackSocket: ~Copyable {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private let descriptor: Int32

    private static let patienceSeconds = 5
    private static let answerLimitBytes = 1 << 24
    private static let chunkBytes = 65_536

    /// - Parameter port: of the loopback interface.
    init(port: Int) throws(Failure) {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw Failure(description: "no socket: errno \(errno)") }
        var time = timeval(tv_sec: Self.patienceSeconds, tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(descriptor, SOL_SOCKET, option, &time, socklen_t(MemoryLayout<timeval>.size))
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(truncatingIfNeeded: port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, size) }
        }
        guard result == 0 else {
            let code = errno
            close(descriptor)
            throw Failure(description: "port \(port) does not take a connection: errno \(code)")
        }
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }

    func write(_ bytes: [UInt8]) throws(Failure) {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw Failure(description: "a request was not sent: errno \(errno)") }
            sent += count
        }
    }

    /// Exactly so many bytes.
    func read(_ count: Int) throws(Failure) -> [UInt8] {
        guard count <= Self.answerLimitBytes else { throw Failure(description: "an answer of \(count) bytes") }
        var bytes: [UInt8] = []
        while bytes.count < count {
            let chunk = try receive(count - bytes.count)
            guard !chunk.isEmpty else { throw Failure(description: "an answer ended early") }
            bytes += chunk
        }
        return bytes
    }

    /// Everything up to the end.
    func readToEnd() throws(Failure) -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < Self.answerLimitBytes {
            let chunk = try receive(Self.chunkBytes)
            guard !chunk.isEmpty else { return bytes }
            bytes += chunk
        }
        throw Failure(description: "an answer without end")
    }

    /// Receives the bytes that are there; none at the end.
    private func receive(_ limit: Int) throws(Failure) -> [UInt8] {
        var chunk = [UInt8](repeating: 0, count: min(limit, Self.chunkBytes))
        let count = chunk.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, $0.count, 0) }
        guard count >= 0 else { throw Failure(description: "no answer: errno \(errno)") }
        chunk.removeLast(chunk.count - count)
        return chunk
    }
}

extension LoopbackSocket {
    /// The answer to a request of ``KafkaWire``, without its length.
    func ask(_ request: [UInt8]) throws(Failure) -> [UInt8] {
        try write(request)
        return try read(try read(4).reduce(0) { $0 << 8 | Int($1) })
    }

    /// The body, more or less, of what an HTTP server answers to `GET path`.
    func get(_ path: String) throws(Failure) -> String {
        try write(Array("GET \(path) HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n".utf8))
        return String(decoding: try readToEnd(), as: UTF8.self)
    }
}
