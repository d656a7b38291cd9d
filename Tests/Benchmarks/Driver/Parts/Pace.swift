import Foundation
import Workbench

/// A publisher in C that keeps a rate, and puts the time at which it hands a record over into its payload.
struct Pace {
    /// A broker, and the bundle that is published for.
    struct Target {
        var brokers: String
        var bundle: String
        /// Keys of the bundle.
        var spread: Int
        /// Tokens, of which each notification has the next one.
        var tokens: Int
        /// The longest wait of a record for others at the producer.
        var lingerMilliseconds = 0
    }

    /// Its last words.
    struct Result: Decodable {
        /// From the first record to the last.
        let seconds: Double
        /// From when a record was due until it was handed over; their number is that of the records.
        let lateness: Latency

        private enum CodingKeys: String, CodingKey {
            case seconds
        }

        init(from decoder: any Decoder) throws {
            seconds = try decoder.container(keyedBy: CodingKeys.self).decode(Double.self, forKey: .seconds)
            lateness = try Latency(from: decoder)
        }
    }

    private static let topic = "push.requests"
    /// For the acknowledgement of the last records.
    private static let graceMilliseconds: Int32 = 60_000

    private let child: ChildProcess
    private let milliseconds: Int32

    /// Starts it.
    ///
    /// - Parameters:
    ///   - first: number of the first notification.
    ///   - count: of notifications, unless it is stopped before.
    ///   - rate: notifications a second.
    init(_ servers: Servers, to target: Target, first: Int, count: Int, rate: Int) throws {
        milliseconds = Int32(clamping: count / rate * 1000) &+ Self.graceMilliseconds
        child = try servers.start(
            "pace",
            program: servers.programs.load,
            arguments: [
                "pace", "--brokers", target.brokers, "--topic", Self.topic, "--bundle", target.bundle,
                "--spread", "\(target.spread)", "--tokens", "\(target.tokens)", "--first", "\(first)",
                "--count", "\(count)", "--rate", "\(rate)", "--linger-ms", "\(target.lingerMilliseconds)",
            ]
        )
    }

    /// Waits until all its records are acknowledged.
    func end() throws -> Result {
        let line = try child.line(within: milliseconds)
        guard let result = try? JSONDecoder().decode(Result.self, from: Data(line.utf8)) else {
            throw BenchmarkError("publisher: not the line expected: \(line)")
        }
        try child.awaitSuccess()
        return result
    }

    /// Lets it publish no more, and waits likewise.
    func stop() throws -> Result {
        child.signal(SIGTERM)
        return try end()
    }
}
