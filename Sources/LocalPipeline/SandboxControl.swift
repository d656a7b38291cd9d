import BelfrySupport
import Foundation
import NIOPosix
import Workbench

/// The control port of a sandbox, asked from another process.
public struct SandboxControl: Sendable {
    /// `GET /stats`.
    public struct Stats: Decodable, Sendable {
        /// Counts of a topic's feedback.
        public struct FeedbackList: Decodable, Sendable {
            /// In the list now.
            public var waiting: Int
            /// Taken by readers, since the start.
            public var taken: Int
            /// Of these: arrived in a reader's system; a connection's last ones are counted when it ends.
            public var arrived: Int
        }

        /// Counts of a topic's channels.
        public struct Channels: Decodable, Sendable {
            /// Broadcasts taken.
            public var accepted: Int
            /// Reached a subscriber.
            public var delivered: Int
            /// Wait for a subscriber now.
            public var stored: Int
            /// Did not reach a subscriber.
            public var missed: Int
        }

        public struct Topic: Decodable, Sendable {
            public var accepted: Int
            public var distinct: Int
            /// Reached a device.
            public var delivered: Int
            public var rejected: [String: Int]
            public var discarded: Int
            public var feedback: Int
            public var feedbackList: FeedbackList
            public var channels: Channels
            /// Accepted ones by the title of their alert, if the sandbox counts them.
            public var titles: [String: Int]?
        }

        public struct Connections: Decodable, Sendable {
            public var open: Int
            public var total: Int
            public var refused: Int
        }

        public var topics: [String: Topic]
        public var connections: Connections
        /// Open connections by the serial number of the certificate shown; nil: there are none.
        public var certificates: [String: Int]?
        /// Number of times each fault has struck.
        public var faults: [String: Int]

        public var accepted: Int { topics.values.reduce(0) { $0 + $1.accepted } }
        public var distinct: Int { topics.values.reduce(0) { $0 + $1.distinct } }
        public var discarded: Int { topics.values.reduce(0) { $0 + $1.discarded } }
        public var feedback: Int { topics.values.reduce(0) { $0 + $1.feedback } }
        public var rejected: [String: Int] {
            topics.values.reduce(into: [:]) { $0.merge($1.rejected, uniquingKeysWith: +) }
        }
        /// Accepted ones by the title of their alert.
        public var titles: [String: Int] {
            topics.values.reduce(into: [:]) { $0.merge($1.titles ?? [:], uniquingKeysWith: +) }
        }
    }

    /// The tokens that `belfry sandbox tokens` prints, a line each.
    public static func tokens(parsing text: String) -> [[UInt8]] {
        text.split(separator: "\n").map { line in
            let digits = Array(line.utf8)
            return stride(from: 0, to: digits.count, by: 2).map { index in
                UInt8(String(decoding: digits[index..<index + 2], as: UTF8.self), radix: 16) ?? 0
            }
        }
    }

    private let port: Int

    public init(port: Int) {
        self.port = port
    }

    public func stats() async throws -> Stats {
        try JSONDecoder().decode(Stats.self, from: try await send("GET", "/stats", body: nil))
    }

    /// `GET /accepted`: the numbers in the payloads that were accepted for a token, in order.
    public func accepted(topic: String, token: [UInt8]) async throws -> [UInt32] {
        struct History: Decodable {
            var accepted: [UInt32]
        }

        let digits = token.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        let answer = try await send("GET", "/accepted?topic=\(topic)&token=\(digits)", body: nil)
        return try JSONDecoder().decode(History.self, from: answer).accepted
    }

    /// `POST /devices`.
    public func setDevices(topic: String, first: Int, count: Int, state: String) async throws {
        let body = "{\"topic\":\"\(topic)\",\"first\":\(first),\"count\":\(count),\"state\":\"\(state)\"}"
        _ = try await send("POST", "/devices", body: body)
    }

    /// `POST /subscriptions`: devices subscribe to a channel.
    public func subscribe(topic: String, channel: String, first: Int, count: Int) async throws {
        let body = "{\"topic\":\"\(topic)\",\"channel\":\"\(channel)\",\"first\":\(first),\"count\":\(count)}"
        _ = try await send("POST", "/subscriptions", body: body)
    }

    /// `POST /feedback`: lists apps as missing.
    public func listFeedback(topic: String, first: Int, count: Int, timestamp: Int64) async throws {
        let body = "{\"topic\":\"\(topic)\",\"first\":\(first),\"count\":\(count),\"timestamp\":\(timestamp)}"
        _ = try await send("POST", "/feedback", body: body)
    }

    /// `POST /faults` with a JSON body.
    public func setFault(_ body: String) async throws {
        _ = try await send("POST", "/faults", body: body)
    }

    private func send(_ method: String, _ path: String, body: String?) async throws -> Data {
        let exchange = HTTPExchange(
            method,
            path,
            headers: [("content-type", "application/json")],
            body: Array((body ?? "").utf8),
            timeout: .seconds(60),
            mostBytes: 64 << 20
        )
        let answer = try await exchange.send(
            to: HostPort(host: "127.0.0.1", port: port),
            on: MultiThreadedEventLoopGroup.singleton.next()
        ).get()
        guard (200..<300).contains(answer.status) else {
            throw ChildProcess.Failure(
                description: "\(method) \(path): \(answer.status) \(String(decoding: answer.body, as: UTF8.self))"
            )
        }
        return Data(answer.body)
    }
}
