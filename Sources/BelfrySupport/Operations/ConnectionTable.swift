import PipelineCore

/// The open connections of a port, and the one that has to go when there are too many.
struct ConnectionTable {
    /// Number of a connection, in the order of their opening.
    typealias ID = UInt64

    private let limit: Int
    private var last: ID = 0
    /// The time since when each connection has been quiet.
    private var quietSince: [ID: MonotonicTime] = [:]

    /// - Parameter limit: most connections at once, at least 1.
    init(limit: Int) {
        precondition(limit > 0, "a port takes connections")
        self.limit = limit
    }

    var count: Int { quietSince.count }

    /// Takes in a connection.
    ///
    /// - Returns: its number, and that of the connection that has to be closed for it: the one that was quiet for
    ///   longest. It is not counted any more.
    mutating func open(now: MonotonicTime) -> (opened: ID, evicted: ID?) {
        last += 1
        defer { quietSince[last] = now }
        guard quietSince.count >= limit else { return (last, nil) }
        // The order of a dictionary differs from process to process: equal times are told apart by number.
        let oldest = quietSince.min { ($0.value, $0.key) < ($1.value, $1.key) }?.key
        if let oldest { quietSince[oldest] = nil }
        return (last, oldest)
    }

    /// The connection asked something, or was told something. Ignored for one that has gone.
    mutating func spoke(_ id: ID, now: MonotonicTime) {
        if quietSince[id] != nil { quietSince[id] = now }
    }

    /// Idempotent.
    mutating func close(_ id: ID) {
        quietSince[id] = nil
    }
}
