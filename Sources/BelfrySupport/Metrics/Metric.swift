import PipelineCore

/// One metric of a role: its name, its help, and where its values stand in the role's report.
///
/// The metrics of a role are a table of these. `/metrics` shows them in its order.
package struct Metric<Report>: Sendable {
    private let empty: MetricFamily
    private let values: Values
    private let rule: Rule

    /// The value of a series that several reports, or parts of one, tell of.
    private enum Rule {
        case sum
        case highest
        case lowest
    }

    /// A value that only ever rises, until the process ends. The name ends in `_total`.
    package static func counter(_ name: String, _ help: String, _ values: Values) -> Self {
        Self(empty: MetricFamily(name, .counter, help), values: values, rule: .sum)
    }

    package static func gauge(_ name: String, _ help: String, _ values: Values) -> Self {
        Self(empty: MetricFamily(name, .gauge, help), values: values, rule: .sum)
    }

    /// A value of which the highest counts, where several reports, or parts of one, tell of the same series.
    package static func gauge(_ name: String, _ help: String, highest values: Values) -> Self {
        Self(empty: MetricFamily(name, .gauge, help), values: values, rule: .highest)
    }

    /// A value of which the lowest counts, where several reports, or parts of one, tell of the same series.
    package static func gauge(_ name: String, _ help: String, lowest values: Values) -> Self {
        Self(empty: MetricFamily(name, .gauge, help), values: values, rule: .lowest)
    }

    /// Durations counted in buckets. The name ends in `_seconds`.
    package static func histogram(_ name: String, _ help: String, _ values: Values) -> Self {
        Self(empty: MetricFamily(name, .histogram, help), values: values, rule: .sum)
    }

    /// The metric with the series of all reports together.
    package func family(of reports: [Report]) -> MetricFamily {
        var family = empty
        for sample in reports.flatMap(values.samples) {
            switch rule {
            case .sum: family.add(sample.value, sample.labels, suffix: sample.suffix)
            case .highest: family.combine(sample.value, sample.labels, by: max)
            case .lowest: family.combine(sample.value, sample.labels, by: min)
            }
        }
        return family
    }
}

extension Array {
    /// All metrics of a table, also those without a sample: that they exist is worth knowing.
    package func families<Report>(of reports: [Report]) -> [MetricFamily] where Element == Metric<Report> {
        map { $0.family(of: reports) }
    }
}

extension Metric {
    /// The way from a report to the values of a metric. Where it gives nil there is no sample: a 0 would say that it
    /// is known.
    package struct Values: Sendable {
        fileprivate let samples: @Sendable (Report) -> [MetricFamily.Sample]

        package static func number(_ value: @escaping @Sendable (Report) -> Double?) -> Self {
            Self { report in value(report).map { [.init(labels: [], value: $0)] } ?? [] }
        }

        package static func count(_ value: @escaping @Sendable (Report) -> Int?) -> Self {
            number { value($0).map(Double.init) }
        }

        package static func seconds(_ value: @escaping @Sendable (Report) -> Duration?) -> Self {
            number { value($0).map { Double($0.wholeNanoseconds) / 1e9 } }
        }

        /// 1 for true, 0 for false.
        package static func flag(_ value: @escaping @Sendable (Report) -> Bool?) -> Self {
            number { value($0).map { $0 ? 1 : 0 } }
        }

        /// A series for each value of a label.
        package static func counts(
            by label: String,
            _ counts: @escaping @Sendable (Report) -> [(String, Int)]
        ) -> Self {
            Self { report in
                counts(report).map { .init(labels: [.init(label, $0)], value: Double($1)) }
            }
        }

        /// The buckets of a histogram with their bounds, its sum and its count.
        package static func histogram(_ value: @escaping @Sendable (Report) -> Histogram?) -> Self {
            Self { report in
                guard let histogram = value(report) else { return [] }
                let buckets = histogram.cumulative.map { bound, count in
                    MetricFamily.Sample(
                        labels: [.init("le", MetricsText.number(bound))],
                        value: Double(count),
                        suffix: "_bucket"
                    )
                }
                return buckets + [
                    .init(labels: [], value: histogram.sumSeconds, suffix: "_sum"),
                    .init(labels: [], value: Double(histogram.count), suffix: "_count"),
                ]
            }
        }

        /// The values of each part of a report.
        ///
        /// - Parameter labels: tell the parts apart; those of the values come behind them.
        package static func each<Part>(
            _ parts: @escaping @Sendable (Report) -> [Part],
            labels: @escaping @Sendable (Part) -> [MetricFamily.Label] = { _ in [] },
            _ values: Metric<Part>.Values
        ) -> Self {
            Self { report in
                parts(report).flatMap { part in
                    let own = labels(part)
                    return values.samples(part).map {
                        MetricFamily.Sample(labels: own + $0.labels, value: $0.value, suffix: $0.suffix)
                    }
                }
            }
        }
    }
}

extension [MetricFamily.Label] {
    /// The labels of a bundle in an environment.
    package static func topic(_ bundleID: String, in environment: String) -> Self {
        [.init("app", bundleID), .init("environment", environment)]
    }

    package static func partition(_ number: Int32) -> Self {
        [.init("partition", "\(number)")]
    }
}
