import Foundation

/// The result of one case.
///
/// A bad token that is not yet known costs its connection the time until the answer and the next handshake, during
/// which nothing more is accepted on it. So a pipeline that loses nothing else reaches
///
///     bound = connections × (1/p − 1) / (delay + handshake)
///
/// good notifications a second, p being the share of notifications to bad tokens not yet learned, or the clean rate if
/// that is lower.
struct BadTokenReport: Equatable {
    /// Share of notifications to bad tokens, in percent.
    var invalidPercent: Double
    /// Of every answer of the gateway.
    var answerDelayMilliseconds: Int
    var notifications: Int
    var distinctBad: Int
    /// Gateway connections that the worker keeps.
    var connections: Int
    /// Median time from the first SYN to the end of the TLS handshake, with nothing else going on.
    var handshakeSeconds: Double
    /// Good notifications accepted a second, of this run and of the clean one just before.
    var goodRate: Double
    var cleanRate: Double
    /// Accepted more than once.
    var duplicates: Int
    /// Connections that the gateway took during the run.
    var connects: Int
    /// Notifications refused as to an invalid token: at least one for each distinct one.
    var refused: Int

    static let least = 0.8

    var goodputRatio: Double { cleanRate > 0 ? goodRate / cleanRate : 0 }

    /// Every distinct bad token has to be met once: what a worker meets twice is its own loss.
    var unlearnedShare: Double { notifications > 0 ? Double(distinctBad) / Double(notifications) : 0 }

    var boundRatio: Double {
        guard unlearnedShare > 0, cleanRate > 0 else { return 1 }
        let seconds = Double(answerDelayMilliseconds) / 1000 + handshakeSeconds
        return min(1, Double(connections) * (1 / unlearnedShare - 1) / seconds / cleanRate)
    }

    /// One per bad token and the initial ones: nothing else ends a connection here.
    var connectLimit: Int { distinctBad + connections }

    /// Duplicates and connects keep to their limits, however busy the machine is.
    var isSafe: Bool { duplicates == 0 && connects <= connectLimit }

    var meetsTargets: Bool { goodputRatio >= Self.least * boundRatio && isSafe }

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
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        let fields = Fields(
            invalidPercent: invalidPercent,
            answerDelayMilliseconds: answerDelayMilliseconds,
            notifications: notifications,
            distinctBad: distinctBad,
            unlearnedShare: Self.rounded(unlearnedShare, 6),
            connections: connections,
            handshakeMilliseconds: Self.rounded(handshakeSeconds * 1000, 2),
            goodputRatio: Self.rounded(goodputRatio, 3),
            boundRatio: Self.rounded(boundRatio, 3),
            goodRate: Self.rounded(goodRate, 0),
            cleanRate: Self.rounded(cleanRate, 0),
            duplicates: duplicates,
            connects: connects,
            connectLimit: connectLimit,
            refused: refused,
            meetsTargets: meetsTargets
        )
        return String(decoding: try encoder.encode(fields), as: UTF8.self)
    }

    private static func rounded(_ value: Double, _ digits: Int) -> Decimal {
        // A Decimal prints the digits meant, a Double sometimes many more.
        Decimal(string: String(format: "%.\(digits)f", value)) ?? 0
    }

    private struct Fields: Encodable {
        let invalidPercent: Double
        let answerDelayMilliseconds: Int
        let notifications: Int
        let distinctBad: Int
        let unlearnedShare: Decimal
        let connections: Int
        let handshakeMilliseconds: Decimal
        let goodputRatio: Decimal
        let boundRatio: Decimal
        let goodRate: Decimal
        let cleanRate: Decimal
        let duplicates: Int
        let connects: Int
        let connectLimit: Int
        let refused: Int
        let meetsTargets: Bool

        enum CodingKeys: String, CodingKey {
            case notifications, connections, duplicates, connects, refused
            case invalidPercent = "invalid_percent"
            case answerDelayMilliseconds = "answer_delay_ms"
            case distinctBad = "distinct_bad"
            case unlearnedShare = "p"
            case handshakeMilliseconds = "handshake_ms"
            case goodputRatio = "goodput_ratio"
            case boundRatio = "bound_ratio"
            case goodRate = "good_rate"
            case cleanRate = "clean_rate"
            case connectLimit = "connect_limit"
            case meetsTargets = "meets_targets"
        }
    }
}
