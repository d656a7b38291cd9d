import Foundation
import Glibc
import Workbench

/// The gateway that takes everything and answers nothing, and what it has seen.
struct Sink {
    /// Totals of everything that has arrived since it started.
    struct Totals: Decodable, Equatable {
        let notifications: Int
        let bytes: Int
        let connections: Int
        /// Nanoseconds of CLOCK_MONOTONIC at the end of the last read.
        let lastByteNanoseconds: UInt64

        enum CodingKeys: String, CodingKey {
            case notifications
            case bytes
            case connections
            case lastByteNanoseconds = "last_byte_ns"
        }
    }

    /// Arrivals with the time of their publisher.
    struct Arrivals: Decodable, Equatable {
        /// Nanoseconds of CLOCK_MONOTONIC at the end of the read that brought the first one; 0: there was none.
        let firstNanoseconds: UInt64
        let latency: Latency

        private enum CodingKeys: String, CodingKey {
            case firstNanoseconds = "first_ns"
        }

        init(from decoder: any Decoder) throws {
            firstNanoseconds = try decoder.container(keyedBy: CodingKeys.self).decode(
                UInt64.self,
                forKey: .firstNanoseconds
            )
            latency = try Latency(from: decoder)
        }
    }

    private struct Ready: Decodable {
        let gateway: UInt16
    }

    let child: ChildProcess
    let port: UInt16

    /// As `SandboxLimits.readBytes`.
    static let sandboxReadBytes = 256 * 1024
    private static let answerMilliseconds: Int32 = 10_000

    /// Starts it with the server's certificate of a PKI.
    ///
    /// - Parameters:
    ///   - readBytes: what it asks of a socket at a time; 0 is OpenSSL's way, a record in two reads.
    ///   - areStamped: it reads the publisher's time out of each payload, and answers sentinels; see ``latency()``.
    init(servers: Servers, pki: URL, readBytes: Int = 0, areStamped: Bool = false) throws {
        child = try servers.start(
            "sink",
            program: servers.programs.sink,
            arguments: [
                "--identity", pki.appendingPathComponent("server.pem").path,
                "--clients", pki.appendingPathComponent("ca.pem").path,
                "--read-bytes", "\(readBytes)", "--stamps", areStamped ? "1" : "0",
            ]
        )
        port = try Self.decode(Ready.self, child.line(within: Self.answerMilliseconds)).gateway
    }

    func totals() throws -> Totals {
        try child.order("stats")
        return try Self.decode(Totals.self, child.line(within: Self.answerMilliseconds))
    }

    /// The totals once `notifications` have arrived, or after so many milliseconds.
    func wait(notifications: Int, milliseconds: Int32) throws -> Totals {
        try child.order("wait \(notifications) \(milliseconds)")
        return try Self.decode(Totals.self, child.line(within: milliseconds + Self.answerMilliseconds))
    }

    /// Arrivals with a stamp since the last such call.
    func latency() throws -> Arrivals {
        try child.order("latency")
        return try Self.decode(Arrivals.self, child.line(within: Self.answerMilliseconds))
    }

    /// Nanoseconds of CLOCK_MONOTONIC, the sink's clock.
    static func now() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    private static func decode<Value: Decodable>(_ type: Value.Type, _ line: String) throws -> Value {
        do {
            return try JSONDecoder().decode(type, from: Data(line.utf8))
        } catch {
            throw BenchmarkError("sink: not the line expected: \(line)")
        }
    }
}
