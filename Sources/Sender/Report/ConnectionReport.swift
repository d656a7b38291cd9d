/// Connections of a shard to the gateways of one environment, by state, and what the gateways said at their ends.
struct ConnectionReport: Sendable, Equatable {
    enum State: String, CaseIterable, Sendable {
        case connecting
        /// Takes notifications.
        case open
        /// Takes no more; what is in flight may settle.
        case draining
        /// There is none, and none is made before a back-off or the budget allows it.
        case waiting
    }

    let environment: String
    private(set) var counts: [State: Int] = [:]
    /// GOAWAY frames by reason; only reasons that are known have a name of their own.
    var goAways: [String: Int] = [:]

    init(environment: String) {
        self.environment = environment
    }

    mutating func count(_ state: State) {
        counts[state, default: 0] += 1
    }
}
