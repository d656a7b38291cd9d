/// The numbers of a role's `GET /metrics`.
package struct MetricNumbers: Equatable, Sendable {
    /// By series as they are written: name and labels.
    package let bySeries: [String: Double]

    package init(_ text: String) {
        var numbers: [String: Double] = [:]
        for line in text.split(separator: "\n") where !line.hasPrefix("#") {
            guard let space = line.lastIndex(of: " "), let number = Double(line[line.index(after: space)...]) else {
                continue
            }
            numbers[String(line[..<space])] = number
        }
        bySeries = numbers
    }

    /// The numbers of all series of a metric, in no order.
    package func values(of name: String) -> [Double] {
        bySeries.compactMap { $0.key == name || $0.key.hasPrefix("\(name){") ? $0.value : nil }
    }

    /// The sum over all series of a metric; 0 without any.
    package func sum(of name: String) -> Double { values(of: name).reduce(0, +) }

    /// The bound of the highest bucket of a histogram with one series that counted something since `before`, in
    /// seconds; 0: nothing was counted.
    package func highestBound(of name: String, since before: MetricNumbers) -> Double {
        let buckets = buckets(of: name).map { bucket in
            (bound: bucket.bound, added: bucket.count - (before.bySeries[bucket.series] ?? 0))
        }
        // Cumulative: the first bucket with all of them has the longest.
        guard let all = buckets.map({ $0.added }).max(), all > 0 else { return 0 }
        return buckets.filter { $0.added == all }.map { $0.bound }.min() ?? 0
    }

    /// A time in seconds that the longest of all observations of a histogram exceeds, as exactly as its buckets tell; 0
    /// without any.
    package func longest(of name: String) -> Double {
        // Of each series, the buckets below the longest hold fewer than all.
        Dictionary(grouping: buckets(of: name), by: \.labels).values.reduce(0) { longest, buckets in
            let all = buckets.map(\.count).max() ?? 0
            return max(longest, buckets.filter { $0.count < all }.map(\.bound).max() ?? 0)
        }
    }

    /// A bucket of a histogram: observations up to its bound, those below the bounds before included.
    private struct Bucket {
        let series: String
        /// All but the bound.
        let labels: Substring
        let bound: Double
        let count: Double
    }

    /// The buckets of all series of a histogram, in no order. The bound is the last label.
    private func buckets(of name: String) -> [Bucket] {
        bySeries.compactMap { series, count in
            guard series.hasPrefix("\(name)_bucket{"), let mark = series.ranges(of: "le=\"").last else { return nil }
            let text = series[mark.upperBound...].prefix { $0 != "\"" }
            guard let bound = text == "+Inf" ? Double.infinity : Double(text) else { return nil }
            return Bucket(series: series, labels: series[..<mark.lowerBound], bound: bound, count: count)
        }
    }
}
