import Foundation
import Glibc

/// One request to a server on the loopback address and its answer, over a connection of its own.
enum HTTPExchange {
    /// - Returns: the answer's body.
    /// - Throws: ``BenchmarkError`` unless the status is 200.
    static func body(of method: String, _ path: String, _ body: String, port: UInt16) throws -> Data {
        let descriptor = try connect(port: port)
        defer { close(descriptor) }
        let head = "\(method) \(path) HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n"
        let request = Array("\(head)content-length: \(body.utf8.count)\r\n\r\n\(body)".utf8)
        // A request of ours fits into the socket's buffer.
        guard write(descriptor, request, request.count) == request.count else { throw failed(path) }
        var answer: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(descriptor, &chunk, chunk.count)
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else { throw failed(path) }
            guard count > 0 else { break }
            answer += chunk[..<count]
        }
        let text = Data(answer)
        guard let end = text.range(of: Data("\r\n\r\n".utf8)), text.starts(with: Data("HTTP/1.1 200".utf8)) else {
            throw BenchmarkError("\(path): \(String(decoding: answer.prefix(300), as: UTF8.self))")
        }
        return text[end.upperBound...]
    }

    /// A server takes connections there.
    static func isListening(port: UInt16) -> Bool {
        guard let descriptor = try? connect(port: port) else { return false }
        close(descriptor)
        return true
    }

    private static func connect(port: UInt16) throws -> Int32 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
        let connected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard connected else {
            close(descriptor)
            throw failed("port \(port)")
        }
        return descriptor
    }

    private static func failed(_ what: String) -> BenchmarkError {
        BenchmarkError("\(what): \(String(cString: strerror(errno)))")
    }
}
