/// The topics that have label values of their own in metrics; all others share the value `other`.
///
/// Each label value costs a monitoring system a dozen time series for as long as it keeps them. Gauges name the topics
/// that need a look now. Counters must not fall, so a topic that is counted under its own name stays there, and what
/// `other` counts never leaves it.
struct AppLabels: Sendable, Equatable {
    /// A bundle in an environment.
    struct Name: Hashable, Comparable, Sendable {
        let bundleID: String
        let environment: String

        init(_ topic: ShardReport.Topic) {
            bundleID = topic.bundleID
            environment = topic.environment
        }

        static func < (left: Name, right: Name) -> Bool {
            (left.bundleID, left.environment) < (right.bundleID, right.environment)
        }
    }

    /// Most topics with names of their own, in gauges and in counters.
    static let limit = 200
    /// No bundle ID has this form: it lacks a dot.
    static let other = "other"

    private let limit: Int
    /// Topics that have counted something and are named in counters: only ever grows.
    private var counted: Set<Name> = []
    /// Named in counters now: ``counted``, and while there is room for all those that have counted nothing yet.
    private(set) var namedInCounters: Set<Name> = []
    /// Named in gauges, the one that needs a look most first.
    private(set) var shown: [Name] = []

    init(limit: Int = AppLabels.limit) {
        self.limit = limit
    }

    /// Chooses for one exposition.
    ///
    /// - Parameter topics: of all shards.
    mutating func choose(_ topics: [ShardReport.Topic]) {
        var needs: [Name: Need] = [:]
        for topic in topics { needs[Name(topic), default: Need()].add(topic) }
        let sorted = needs.sorted { left, right in
            let (ofLeft, ofRight) = (left.value.rank, right.value.rank)
            return ofLeft == ofRight ? left.key < right.key : ofLeft > ofRight
        }
        shown = sorted.prefix(limit).map(\.key)
        if counted.count < limit {
            let newcomers = needs.filter { $0.value.events > 0 && !counted.contains($0.key) }
            let busiest = newcomers.sorted { ($1.value.events, $0.key) < ($0.value.events, $1.key) }
            counted.formUnion(busiest.prefix(limit - counted.count).map(\.key))
        }
        namedInCounters = needs.count <= limit ? counted.union(needs.keys) : counted
    }

    func chosen(for topics: [ShardReport.Topic]) -> Self {
        var labels = self
        labels.choose(topics)
        return labels
    }

    /// A topic's need of a look.
    private struct Need {
        var isStopped = false
        var lagRecords: Int64 = 0
        var accepted = 0
        /// 0: all counters of the topic are 0.
        var events = 0

        mutating func add(_ topic: ShardReport.Topic) {
            let counters = topic.counters
            isStopped = isStopped || topic.reason != nil
            lagRecords += topic.lagRecords
            accepted += counters.accepted
            events += counters.accepted + counters.connects + counters.disconnects.reduce(0, +)
            events += counters.errorResponses.values.reduce(0, +) + counters.onProbation
            events += counters.sensitive + counters.moved + counters.misplaced
        }

        /// The stopped come before those that lag, and these before the busy.
        var rank: (Int, Int64, Int) { (isStopped ? 1 : 0, lagRecords, accepted) }
    }
}

extension [ShardReport.Topic] {
    /// The topics under the names that they have in a metric.
    func named(_ names: Set<AppLabels.Name>) -> Self {
        map { topic in
            guard !names.contains(AppLabels.Name(topic)) else { return topic }
            var other = topic
            other.bundleID = AppLabels.other
            return other
        }
    }
}
