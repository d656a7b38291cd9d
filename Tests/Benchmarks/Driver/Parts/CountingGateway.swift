import Glibc

/// The gateway of a contender, which counts what arrives.
enum CountingGateway {
    case sink(Sink)
    case sandbox(SandboxProcess)

    /// Between two questions to the sandbox; more of them would slow it down.
    private static let questionMilliseconds: Int32 = 5

    var port: UInt16 {
        switch self {
        case .sink(let sink): sink.port
        case .sandbox(let sandbox): sandbox.gatewayPort
        }
    }

    /// Totals of everything that has arrived. Of the sandbox's, bytes are not known, connections are those open now,
    /// and the last byte's time is that of the question.
    func totals() throws -> Sink.Totals {
        switch self {
        case .sink(let sink): return try sink.totals()
        case .sandbox(let sandbox):
            let accepted = try sandbox.tally().accepted
            return Sink.Totals(
                notifications: accepted,
                bytes: 0,
                connections: try sandbox.openConnections(),
                lastByteNanoseconds: Sink.now()
            )
        }
    }

    /// The totals once `notifications` have arrived, or after so many milliseconds.
    func wait(notifications: Int, milliseconds: Int32) throws -> Sink.Totals {
        switch self {
        case .sink(let sink): return try sink.wait(notifications: notifications, milliseconds: milliseconds)
        case .sandbox:
            let deadline = Sink.now() + UInt64(milliseconds) * 1_000_000
            // Nobody waits for the largest number, but for the time.
            if notifications == .max { poll(nil, 0, milliseconds) }
            var seen = try totals()
            while seen.notifications < notifications, Sink.now() < deadline {
                poll(nil, 0, Self.questionMilliseconds)
                seen = try totals()
            }
            return seen
        }
    }
}
