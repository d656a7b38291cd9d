/// Times from a publisher to some place, as the programs in C count and print them.
struct Latency: Decodable, Equatable {
    let count: Int
    /// Microseconds, as all others.
    let p50: Double
    let p99: Double
    let p999: Double
    let largest: Double

    enum CodingKeys: String, CodingKey {
        case count
        case p50 = "p50_us"
        case p99 = "p99_us"
        case p999 = "p999_us"
        case largest = "largest_us"
    }
}

/// Latencies of one place over the rounds, in milliseconds.
struct LatencySamples {
    var p50 = Samples()
    var p99 = Samples()
    var p999 = Samples()

    mutating func add(_ latency: Latency) {
        p50.add(latency.p50 / 1e3)
        p99.add(latency.p99 / 1e3)
        p999.add(latency.p999 / 1e3)
    }
}

extension Samples {
    /// The median of the rounds' differences to another measure of the same rounds; 0 without any.
    func medianDifference(to other: Samples) -> Double {
        var differences = Samples()
        for (value, rival) in zip(values, other.values) { differences.add(value - rival) }
        return differences.median
    }
}
