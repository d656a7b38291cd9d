import Foundation
import Workbench

/// The consumer in C that does nothing but read the stamps of records: no worker can have a record earlier.
struct Receiver {
    private struct Received: Decodable {
        let records: Int
    }

    private static let startMilliseconds: Int32 = 30_000
    private static let answerMilliseconds: Int32 = 10_000

    private let child: ChildProcess

    /// Starts it; it receives what is published from now on.
    init(servers: Servers, brokers: String) throws {
        child = try servers.start(
            "receiver",
            program: servers.programs.load,
            arguments: ["receive", "--brokers", brokers, "--topic", "push.requests"]
        )
        try child.awaitLine(containing: "\"ready\":true", within: Self.startMilliseconds)
    }

    /// Waits until it has received so many records since its start, or for so many milliseconds.
    ///
    /// - Returns: the records since its start, and the latency of those since the last such call.
    func latency(records: Int, milliseconds: Int32) throws -> (records: Int, latency: Latency) {
        try child.order("latency \(records) \(milliseconds)")
        let line = try child.line(within: milliseconds + Self.answerMilliseconds)
        let decoder = JSONDecoder()
        guard let received = try? decoder.decode(Received.self, from: Data(line.utf8)),
            let latency = try? decoder.decode(Latency.self, from: Data(line.utf8))
        else { throw BenchmarkError("receiver: not the line expected: \(line)") }
        return (received.records, latency)
    }
}
