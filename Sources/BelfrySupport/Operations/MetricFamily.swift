/// One metric with its samples, as the text exposition format of Prometheus knows it.
///
/// Label values come from configuration, certificates and fixed lists only: nothing that a request or a peer says may
/// become a label, for every value makes a time series.
public struct MetricFamily: Sendable, Equatable {
    public enum Kind: String, Sendable {
        /// Only ever rises, until the process ends. The name ends in `_total`.
        case counter
        case gauge
    }

    /// One time series.
    public struct Sample: Sendable, Equatable {
        /// In the order they are written.
        public var labels: [Label]
        public var value: Double
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
    /// One sentence for whoever reads the exposition.
    public let help: String
    public let kind: Kind
    public private(set) var samples: [Sample] = []

    public init(_ name: String, _ kind: Kind, _ help: String) {
        self.name = name
        self.kind = kind
        self.help = help
    }

    /// Adds to the series with these labels, which begins at 0: what several shards report is one series.
    mutating func add(_ value: Double, _ labels: [Label]) {
        merge(value, labels, by: +)
    }

    /// Raises the series with these labels to at least `value`: of what several shards report, the highest counts.
    mutating func raise(to value: Double, _ labels: [Label]) {
        merge(value, labels, by: max)
    }

    private mutating func merge(_ value: Double, _ labels: [Label], by combine: (Double, Double) -> Double) {
        if let index = samples.firstIndex(where: { $0.labels == labels }) {
            samples[index].value = combine(samples[index].value, value)
        } else {
            samples.append(Sample(labels: labels, value: value))
        }
    }
}
