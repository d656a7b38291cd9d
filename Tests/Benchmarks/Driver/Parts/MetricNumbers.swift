/// The numbers of a worker's `GET /metrics`, by their series as they are written.
struct MetricNumbers: Equatable {
    private let numbers: [String: Double]

    init(_ text: String) {
        var numbers: [String: Double] = [:]
        for line in text.split(separator: "\n") where !line.hasPrefix("#") {
            guard let space = line.lastIndex(of: " "), let number = Double(line[line.index(after: space)...]) else {
                continue
            }
            numbers[String(line[..<space])] = number
        }
        self.numbers = numbers
    }

    /// The sum over all series of a metric.
    func sum(of name: String) -> Double {
        numbers.reduce(0) { $1.key == name || $1.key.hasPrefix("\(name){") ? $0 + $1.value : $0 }
    }

    /// The bound of the highest bucket of a histogram with one series that counted something since `before`, in
    /// seconds; 0: nothing was counted.
    func highestBound(of name: String, since before: MetricNumbers) -> Double {
        let prefix = "\(name)_bucket{le=\""
        let buckets = numbers.compactMap { series, count -> (bound: Double, added: Double)? in
            guard series.hasPrefix(prefix), let end = series.dropFirst(prefix.count).firstIndex(of: "\"") else {
                return nil
            }
            let text = series.dropFirst(prefix.count)[..<end]
            return (text == "+Inf" ? .infinity : Double(text) ?? 0, count - (before.numbers[series] ?? 0))
        }.sorted { $0.bound < $1.bound }
        // Cumulative: the first bucket with all of them has the longest.
        guard let all = buckets.last?.added, all > 0 else { return 0 }
        return buckets.first { $0.added == all }?.bound ?? 0
    }
}
