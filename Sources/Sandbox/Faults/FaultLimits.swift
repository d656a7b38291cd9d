/// Ranges for the parameters of faults. No fault may make the service overflow or grow.
enum FaultLimits {
    /// Notifications on a connection, and `times`.
    static let count = 1...Int.max

    /// Milliseconds that something can be held back: up to an hour.
    static let milliseconds = 0...3_600_000

    /// Milliseconds that a stall can last: up to a day.
    static let stallMilliseconds = 1...86_400_000

    /// Rate of a slow reader. Beyond 1 GB/s it makes no difference.
    static let bytesPerSecond = 1...1_000_000_000

    /// Connections per minute: each takes 8 bytes of memory.
    static let perMinute = 1...100_000

    /// Connections of a topic at a time. 0 keeps all out.
    static let connections = 0...1_000_000

    /// HTTP statuses of errors.
    static let requestStatuses = 400...599

    /// Streams of a connection to the provider API. 0 lets no request through.
    static let streams = 0...SandboxLimits.apiStreams

    /// Bytes of the windows for bodies. 0 lets no body through.
    static let windowBytes = 0...1 << 30

    /// Seconds that the clock for provider tokens is ahead or, below 0, behind: up to a day.
    static let clockSeconds = -86_400...86_400

    /// Bytes of UTF-8 in a reason.
    static let reasonBytes = 1...100

    /// Bytes of a feedback stream.
    static let feedbackBytes = 0...1 << 30

    /// Tokens that an `error-response` can be for.
    static let tokens = 1...1000

    /// Bytes that `round-trip` holds of each connection before it stops reading: 10 ms at 400 MB/s.
    static let heldBytes = 4 << 20

    /// Bytes that a slow reader takes at a time are an eighth of a second's, within this.
    static let slowReadBytes = 512...64 * 1024

    /// Steps of a script.
    static let steps = 10_000

    /// Seconds after the start at which a step may stand: up to 30 days.
    static let stepSeconds = 0.0...30 * 86_400

    /// The size of a script's file.
    static let scriptBytes = 4 << 20
}
