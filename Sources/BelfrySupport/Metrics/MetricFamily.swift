/// One metric with its samples, as the text exposition format of Prometheus knows it.
///
/// Label values come from configuration, certificates and fixed lists only: nothing that a request or a peer says may
/// become a label, for every value makes a time series.
public struct MetricFamily: Sendable, Equatable {
    public enum Kind: String, Sendable {
        /// Only ever rises, until the process ends. The name ends in `_total`.
        case counter
        case gauge
        /// Durations counted in buckets: samples end in `_bucket`, `_sum` and `_count`.
        case histogram
    }

    /// One time series.
    public struct Sample: Sendable, Equatable {
        /// In the order they are written.
        public var labels: [Label]
        public var value: Double
        /// Follows the name of the family.
        public var suffix = ""

        /// Tells the series apart.
        fileprivate struct Key: Hashable {
            let suffix: String
            let labels: [Label]
        }
    }

    public struct Label: Sendable, Equatable, Hashable {
        public let name: String
        public let value: String

        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// With the unit last, as the field does it: `belfry_oldest_unconfirmed_age_seconds`.
    public let name: String
    /// One sentence for readers of the exposition.
    public let help: String
    public let kind: Kind
    private var series = SeriesTable<Sample.Key, Double>()

    /// In the order in which they came first.
    public var samples: [Sample] {
        series.map { Sample(labels: $0.labels, value: $1, suffix: $0.suffix) }
    }

    public init(_ name: String, _ kind: Kind, _ help: String) {
        self.name = name
        self.kind = kind
        self.help = help
    }

    /// Adds to the series with these labels, which begins at 0: what several shards report is one series.
    mutating func add(_ value: Double, _ labels: [Label], suffix: String = "") {
        series.merge(value, at: Sample.Key(suffix: suffix, labels: labels), by: +)
    }

    /// Sets the series with these labels, or combines it with its value: of what several shards report, perhaps only
    /// the highest counts.
    mutating func combine(_ value: Double, _ labels: [Label], by rule: (Double, Double) -> Double) {
        series.merge(value, at: Sample.Key(suffix: "", labels: labels), by: rule)
    }
}
