/// A fault of the sandbox as it is asked for: `POST /faults`.
struct ChaosFault: Hashable, Sendable, CustomStringConvertible {
    /// As in the sandbox's statistics.
    let name: String
    /// What follows the name in the JSON object.
    let parameters: String
    /// Keeps the gateway from reading or answering for longer than the window: what is presumed may be wrong.
    let withholds: Bool

    init(_ name: String, _ parameters: String = "", withholds: Bool = false) {
        self.name = name
        self.parameters = parameters
        self.withholds = withholds
    }

    /// The body that switches it on.
    var body: String { "{\"name\":\"\(name)\"\(parameters.isEmpty ? "" : ",")\(parameters)}" }

    var description: String { body }
}

/// What the sandbox is made to do wrong. One line each; the schedule goes through all of them in a seeded order, again and
/// again.
///
/// Counts are per connection. A worker has a dozen, and each brings some hundreds of notifications a second, so that the
/// faults here strike every few seconds on each of them.
enum FaultMenu {
    /// Answers come 100–800 ms late in the field; the workers' window is ``confirmationWindowMilliseconds``.
    static let confirmationWindowMilliseconds = 2000

    static let all = [
        ChaosFault("answer-delay", #""milliseconds":50"#),
        ChaosFault("answer-delay", #""milliseconds":800"#),
        ChaosFault("close-after", #""count":1500"#),
        ChaosFault("reset-after", #""count":1300"#),
        ChaosFault("shutdown-after", #""count":1000"#),
        ChaosFault("stall-after", #""count":1000,"milliseconds":700"#),
        ChaosFault("round-trip", #""milliseconds":100"#),
        ChaosFault("refuse-connects"),
        ChaosFault("refuse-handshakes"),
        ChaosFault("feedback-cut", #""bytes":57"#),
        ChaosFault("error-response", #""status":1,"every":700"#),
        ChaosFault("error-response", #""status":7,"every":900"#),
        ChaosFault("error-response", #""status":8,"every":900"#),
        ChaosFault("error-response", #""status":255,"every":1200,"identifierZero":true"#),
    ]
}
