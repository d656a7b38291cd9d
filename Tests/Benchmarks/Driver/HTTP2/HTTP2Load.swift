import Foundation
import Glibc
import Workbench

/// Runs of h2load, nghttp2's load generator, with one thread and a client certificate.
struct HTTP2Load {
    /// The requests that it sends: those of the URIs in turn, all with the same fields and body.
    struct Requests {
        /// One a line. Reading a URI costs h2load about as much as a request: there should be few.
        let uris: URL
        let body: URL
        /// `name: value`.
        let fields: [String]
        let connections: Int
        /// Streams that it has open at once on a connection, if the server's SETTINGS and windows allow.
        let streams: Int
    }

    /// The report of h2load about a run.
    struct Summary: Equatable {
        /// Requests that were answered with 2xx.
        let succeeded: Int
        /// Requests per second, from the first connection to the last answer.
        let rate: Double
        let version: String
        let cipher: String

        /// - Throws: ``BenchmarkError`` if a line is missing.
        init(_ output: String) throws {
            func text(behind start: String) throws -> Substring {
                for line in output.split(separator: "\n") where line.hasPrefix(start) {
                    return line.dropFirst(start.count)
                }
                throw BenchmarkError("h2load: no line \"\(start)…\" in:\n\(output.suffix(1000))")
            }
            // "finished in 277.35ms, 180279.58 req/s, 4.65MB/s", "status codes: 50000 2xx, 0 3xx, 0 4xx, 0 5xx"
            let speed = try text(behind: "finished in ").split(separator: ", ").dropFirst().first
            rate = speed.flatMap { Double($0.prefix { $0 != " " }) } ?? 0
            succeeded = Int(try text(behind: "status codes: ").prefix { $0 != " " }) ?? 0
            version = String(try text(behind: "TLS Protocol: "))
            cipher = String(try text(behind: "Cipher: "))
        }
    }

    /// The cipher that OpenSSL offers first where nobody chooses, as the worker does. h2load would prefer another one.
    private static let cipher = "TLS_AES_256_GCM_SHA384"

    let servers: Servers
    let requests: Requests
    /// Certificate and key, in one PEM file.
    let identity: URL

    /// Sends so many requests to a server on this machine, each of which has to be answered with 2xx.
    ///
    /// - Returns: requests per second, and microseconds of CPU time per request, the program's start included.
    func run(_ name: String, count: Int, port: UInt16) throws -> (rate: Double, cpuMicroseconds: Double) {
        let cpuBefore = try Self.endedChildrenMicroseconds()
        let child = try servers.start(
            name,
            program: Programs.find("h2load"),
            arguments: [
                "--requests=\(count)", "--clients=\(requests.connections)", "--threads=1",
                "--max-concurrent-streams=\(requests.streams)", "--tls13-ciphers=\(Self.cipher)",
                "--input-file=\(requests.uris.path)", "--data=\(requests.body.path)",
                "--base-uri=https://127.0.0.1:\(port)",
            ] + requests.fields.map { "--header=\($0)" },
            environment: [
                "LD_PRELOAD": try servers.programs.identityLibrary(), "BELFRY_BENCH_IDENTITY": identity.path,
            ]
        )
        let output = child.outputToEnd()
        try child.awaitSuccess()
        let cpu = try Self.endedChildrenMicroseconds() - cpuBefore
        let summary = try Summary(output)
        guard summary.succeeded == count else {
            throw BenchmarkError("\(name): \(count) requests, \(summary.succeeded) succeeded:\n\(output)")
        }
        guard summary.version == "TLSv1.3", summary.cipher == Self.cipher else {
            throw BenchmarkError("\(name): \(summary.version), \(summary.cipher); the worker has another one")
        }
        return (summary.rate, cpu / Double(count))
    }

    /// CPU time of all child processes that have ended and been waited for.
    private static func endedChildrenMicroseconds() throws -> Double {
        var usage = rusage()
        guard getrusage(RUSAGE_CHILDREN.rawValue, &usage) == 0 else {
            throw BenchmarkError("the CPU time of programs that have ended is not known")
        }
        let times = [usage.ru_utime, usage.ru_stime]
        return times.reduce(0) { $0 + Double($1.tv_sec) * 1e6 + Double($1.tv_usec) }
    }
}
