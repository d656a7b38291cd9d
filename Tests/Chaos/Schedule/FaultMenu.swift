/// A fault of the sandbox as it is asked for: `POST /faults`.
struct ChaosFault: Hashable, Sendable, CustomStringConvertible {
    /// As in the sandbox's statistics.
    let name: String
    /// Parameters behind the name in the JSON object.
    let parameters: String

    init(_ name: String, _ parameters: String = "") {
        self.name = name
        self.parameters = parameters
    }

    /// The body that switches it on.
    var body: String { "{\"name\":\"\(name)\"\(parameters.isEmpty ? "" : ",")\(parameters)}" }

    var description: String { body }
}

/// The faults that the sandbox is told to make. One line each; the schedule goes through a menu in a seeded order,
/// again and again.
///
/// Counts are per connection. A worker has a dozen, and each brings some hundreds of notifications a second, so that
/// the faults here strike every few seconds on each of them.
enum FaultMenu {
    /// Answers come 100–800 ms late in the field; the workers' window is ``confirmationWindowMilliseconds``.
    static let confirmationWindowMilliseconds = 2000

    /// Over HTTP/2 a request without an answer is given up by then, and sent again.
    static let requestTimeoutSeconds: UInt32 = 3

    /// Of the binary interface. None of them keeps a gateway from reading or answering for longer than the window.
    static let usual = [
        ChaosFault("answer-delay", #""milliseconds":50"#),
        ChaosFault("answer-delay", #""milliseconds":800"#),
        ChaosFault("close-after", #""count":1500"#),
        ChaosFault("reset-after", #""count":1300"#),
        ChaosFault("shutdown-after", #""count":1000"#),
        ChaosFault("stall-after", #""count":1000,"milliseconds":700"#),
        ChaosFault("round-trip", #""milliseconds":100"#),
        ChaosFault("refuse-connects"),
        ChaosFault("refuse-handshakes"),
        ChaosFault("refuse-certificates"),
        ChaosFault("connection-limit", #""count":4"#),
        ChaosFault("connect-rate-limit", #""perMinute":12"#),
        ChaosFault("sentinel-silence"),
        ChaosFault("feedback-cut", #""bytes":57"#),
        ChaosFault("error-response", #""status":1,"every":700"#),
        ChaosFault("error-response", #""status":7,"every":900"#),
        ChaosFault("error-response", #""status":8,"every":900"#),
        ChaosFault("error-response", #""status":255,"every":1200,"identifierZero":true"#),
    ]

    /// These do: what is presumed meanwhile may be wrong, and is told apart from what is lost.
    static let withholding = [
        ChaosFault("answer-delay", #""milliseconds":3000"#),
        ChaosFault("stall-after", #""count":1000,"milliseconds":4000"#),
        ChaosFault("silence-after", #""count":2000"#),
        ChaosFault("slow-reader", #""bytesPerSecond":20000"#),
    ]
}
