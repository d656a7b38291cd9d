import LocalPipeline

/// The quotas of the urgent lane that a run sets for some of its apps, so that workers move records of them.
struct UrgentQuotas: Equatable, Sendable {
    /// Tokens a minute, by index of the topic; the others have none.
    let perMinute: [Int: Int]

    /// The first quota: most records have more tokens, and do not fit into it even while it is unused.
    private static let small = 30
    /// The second one is what is published of its app in so many seconds. A worker that takes partitions over begins
    /// with its part unused, which happens every few seconds: records stay and go all the time.
    private static let seconds = 2
    /// The second one is no smaller: the part of one key has room for any record then, while it is unused.
    private static let smallestSecond = RequestStream.spread * RequestStream.tokensPerRecord.upperBound

    init(_ perMinute: [Int: Int] = [:]) {
        self.perMinute = perMinute
    }

    /// The quotas of a run, in which the first topic has none.
    ///
    /// - Parameter rate: notifications per second that are published, of all topics and lanes.
    init(topics: Int, rate: Int) {
        precondition(topics >= 3, "a topic without quota, and two with one")
        let urgent = rate * RequestStream.urgentPercent / 100 / topics
        self.init([1: Self.small, 2: max(Self.smallestSecond, urgent * Self.seconds)])
    }

    /// Tokens a minute; nil: the topic has no quota.
    subscript(topic: Int) -> Int? { perMinute[topic] }
}
