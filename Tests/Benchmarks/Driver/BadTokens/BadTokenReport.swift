import Workbench

/// The result of one case: rounds of a clean run and one with bad tokens, of the same size, judged in pairs.
///
/// A bad token that is not yet known costs its connection the time until the answer and the next handshake, during
/// which nothing more is accepted on it. All connections together wait
///
///     stall = distinct bad tokens × (delay + handshake) / connections
///
/// seconds so, the bad tokens being spread evenly. Beside that the good notifications take the time that they took in
/// the clean run of the round. The sum is the bound of that round. A bound made of a clean rate and a stall rate apart,
/// the lower of which counts, follows the clean run wherever a burst of it happens to be fast; and it asks that a
/// connection that waits costs nothing, though the others have no more processors for that.
struct BadTokenReport: Equatable {
    /// One clean run, and the run with bad tokens just after it.
    struct Round: Equatable {
        /// Good notifications accepted a second.
        var cleanRate: Double
        var goodRate: Double
        /// Accepted more than once.
        var duplicates: Int
        /// Connections that the gateway took in the run with bad tokens until the last good notification was accepted.
        var connects: Int
        /// Connections that it took afterwards: nothing that is accepted proves a refusal any more, and a worker that
        /// doubts its gateway tries each notification of a token that was refused then.
        var connectsAfter: Int
        /// Notifications refused as to an invalid token: at least one for each distinct one.
        var refused: Int
        /// Notifications that the gateway read behind a refused one, and that went again: bytes and CPU in vain.
        var discarded: Int
    }

    /// The fields for the help.
    static let fields = HelpTable(
        "Fields of its lines of JSON, with their targets",
        """
        invalid_percent, answer_delay_ms, notifications, distinct_bad, p: The case; different bad tokens, and their \
        share of the notifications.
        clean_rate, good_rate, goodput_ratio: Good notifications accepted a second without and with bad ones, and the \
        ratio of the two in one round; medians.
        bound_ratio, connections, handshake_ms: The bound as a share of the clean rate, the median, and what it is \
        made of.
        efficiency: goodput_ratio of a round as a share of its own bound; the median: 0.8.
        rounds: Clean rate and good rate of each.
        duplicates: Accepted twice, in all: 0.
        connects, connect_limit: Connections until the last good notification was accepted, of the round with most, \
        and their limit: one for each bad token and at the start.
        connects_after: Connections after that, of the round with most: without acceptances no refusal is proven, and \
        each notification of a token that is refused then may cost one. No target.
        refused, discarded: Notifications refused; those sent behind one, in vain; of the round with most. No target.
        meets_targets: The judgement.
        """
    )

    /// Share of notifications to bad tokens, in percent.
    var invalidPercent: Double
    /// Of every answer of the gateway.
    var answerDelayMilliseconds: Int
    /// Of a run with bad tokens, and so for the next two.
    var notifications: Int
    var good: Int
    var distinctBad: Int
    /// Gateway connections that the worker keeps.
    var connections: Int
    /// Median time from the first SYN to the end of the TLS handshake while a clean run is going on: a bad token's
    /// handshake finds processors that the other connections keep busy.
    var handshakeSeconds: Double
    var rounds: [Round]

    static let least = 0.8

    /// The pair's good rate as a share of its clean rate; the median of the rounds. 0: there is none.
    var goodputRatio: Double { Self.median(rounds.map { $0.cleanRate > 0 ? $0.goodRate / $0.cleanRate : 0 }) }

    /// The share of the clean rate that the bound allows; the median of the rounds.
    var boundRatio: Double { Self.median(rounds.map(boundRatio)) }

    /// The good rate as a share of the bound's, each of its own round; the median.
    var efficiency: Double {
        Self.median(rounds.map { $0.cleanRate > 0 ? $0.goodRate / $0.cleanRate / boundRatio(of: $0) : 0 })
    }

    /// Every distinct bad token has to be met once: what a worker meets twice is its own loss.
    var unlearnedShare: Double { notifications > 0 ? Double(distinctBad) / Double(notifications) : 0 }

    private var stallSeconds: Double {
        Double(distinctBad) * (Double(answerDelayMilliseconds) / 1000 + handshakeSeconds) / Double(connections)
    }

    private func boundRatio(of round: Round) -> Double {
        guard round.cleanRate > 0, good > 0 else { return 1 }
        let clean = Double(good) / round.cleanRate
        return clean / (clean + stallSeconds)
    }

    /// One per bad token and the initial ones: nothing else ends a connection here.
    var connectLimit: Int { distinctBad + connections }

    /// No round has duplicates, and each keeps to the limit of connections, however busy or fast the machine is.
    var isSafe: Bool { rounds.allSatisfy { $0.duplicates == 0 && $0.connects <= connectLimit } }

    /// The targets hold.
    var meetsTargets: Bool { efficiency >= Self.least && isSafe }

    private static func median(_ values: [Double]) -> Double {
        values.isEmpty ? 0 : values.sorted()[values.count / 2]
    }

    /// Most notifications that a run may have, and at least a thousand. So many that there is no more to learn than the
    /// time allows.
    static func most(
        invalidPercent: Double,
        answerDelayMilliseconds: Int,
        handshakeSeconds: Double,
        connections: Int,
        learningSeconds: Double
    ) -> Int {
        let each = Double(answerDelayMilliseconds) / 1000 + handshakeSeconds
        let distinct = learningSeconds * Double(connections) / each
        return max(1000, Int(distinct * Double(BadTokenMix.occurrences) / (invalidPercent / 100)))
    }

    /// One line for programs.
    func line() throws -> String {
        var line = ResultLine()
        line.add("invalid_percent", invalidPercent, digits: 6)
        line.add("answer_delay_ms", answerDelayMilliseconds)
        line.add("notifications", notifications)
        line.add("distinct_bad", distinctBad)
        line.add("p", unlearnedShare, digits: 6)
        line.add("connections", connections)
        line.add("handshake_ms", handshakeSeconds * 1000, digits: 2)
        line.add("goodput_ratio", goodputRatio, digits: 3)
        line.add("bound_ratio", boundRatio, digits: 3)
        line.add("efficiency", efficiency, digits: 3)
        line.add("good_rate", Self.median(rounds.map(\.goodRate)), digits: 0)
        line.add("clean_rate", Self.median(rounds.map(\.cleanRate)), digits: 0)
        line.add("rounds", rounds.map { [$0.cleanRate, $0.goodRate] }, digits: 0)
        line.add("duplicates", rounds.reduce(0) { $0 + $1.duplicates })
        line.add("connects", rounds.map(\.connects).max() ?? 0)
        line.add("connect_limit", connectLimit)
        line.add("connects_after", rounds.map(\.connectsAfter).max() ?? 0)
        line.add("refused", rounds.map(\.refused).max() ?? 0)
        line.add("discarded", rounds.map(\.discarded).max() ?? 0)
        line.add("meets_targets", meetsTargets)
        return try line.text()
    }
}
